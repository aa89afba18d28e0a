"""Write what was tested in the formats that continuous integration reads: TAP, KTAP, JUnit XML and nipa's JSON."""
