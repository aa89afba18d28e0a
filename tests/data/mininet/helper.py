"""A module beside the script."""


def said(code):
    """Return a sentence."""
    return f"the server answered {code}"
