"""The site: `make docs` builds it into out/site, with warnings as errors."""

import sys
from pathlib import Path

import pinnbo

sys.path.insert(0, str(Path(__file__).parent / "_site"))

project = "pinnbo"
author = "The pinnbo developers"
project_copyright = "the pinnbo developers, MIT licence"
version = release = pinnbo.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "accessible", "catalogue", "docstrings"]
exclude_patterns = ["_site", "gallery/tables"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
highlight_language = "none"  # of blocks that name none
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # shapes such as Float[ndarray, "n d"] are for the reader of the code
add_module_names = False

html_theme = "furo"
html_title = "pinnbo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
