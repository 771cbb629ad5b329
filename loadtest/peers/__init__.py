"""The gateway beside rapidocr's library and its API server, with the same weights: `make bench-peers`.

All of them may use all cores, read the same pages of the corpus, and take turns within one run: A B C, then C B A.
"""
