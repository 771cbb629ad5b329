"""`ocr-gateway doctor`: looks at a running system from outside, and says what is wrong and what to do.

What is looked at (`targets`) has a chain of checks (`table`), one module for each theme. Chains run side by side, the
checks of one in turn: one that decides ends its chain with an error, because whatever follows would only repeat it. No
check changes anything, and none can hang (`examination`).
"""
