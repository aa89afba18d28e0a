"""Write results in the formats of continuous integration: TAP, KTAP, JUnit XML and nipa's JSON."""
