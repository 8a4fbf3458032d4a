"""Who is mentioned where: clean texts and links of every winning revision, resolved at each cut."""
