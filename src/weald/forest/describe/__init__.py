"""Trees as tables, text, regions and rules.

nodes           all nodes as a table
conditions      a split in words
text            a tree as text
regions         leaves as boxes, rules
decision_path   the path of one row
summary         what a drawing of a tree shows
markup          HTML and SVG in which text stays text
"""
