"""Problems from templates: strict reading, exact drawing, references made by running the declared paths, the splits.

template (the model) <- strict_yaml, loading, consistency; drawing -> instantiation -> a Problem; stored and deploying
keep the test instances; library finds everything by id.
"""
