"""Trees as tables, text, regions and rules.

nodes           all nodes as a table
conditions      a split as text
text            a tree as text
regions         leaves as boxes, rules
decision_path   the path of one row
summary         the data of a tree plot
markup          HTML and SVG with escaped text
"""
