"""Train, understand and use Transformers on a CPU, with results that are bit-identical.

>>> import limpid
>>> generator = limpid.Generator("runs/english")        # a model folder or a run folder
>>> generator.generate("The", temperature=0.8, seed=7)
>>> for piece in generator.stream("The"): print(piece, end="")
"""

from ._limpid import *  # noqa: F403
from ._limpid import __all__, __version__  # noqa: F401
