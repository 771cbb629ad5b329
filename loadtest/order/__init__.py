"""In which order the lines of a page are read, beside rapidocr and a plain sort, on pages whose order is known.

python -m loadtest.order
"""
