"""Write results in formats for continuous integration: TAP, KTAP, JUnit XML and nipa's JSON."""
