"""Checks that links in Markdown files lead to files of the tree, and to headings in them. links.py
ROOT"""

import os
import re
import sys

import tree

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*?)\s*$", re.M)


def anchor(heading):
    """The anchor that GitHub makes: lower case, without punctuation, hyphens for spaces."""
    plain = re.sub(r"[`*]|\[|\]\([^)]*\)", "", heading).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(text):
    seen, found = {}, set()
    for heading in HEADING.findall(re.sub(r"```.*?```", "", text, flags=re.S)):
        name = anchor(heading)
        count = seen.get(name, 0)
        seen[name] = count + 1
        found.add(name if not count else f"{name}-{count}")
    return found


def bad_links(root, name, text):
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, fragment = link.partition("#")
        there = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
        if not os.path.exists(os.path.join(root, there)):
            yield f"links to {link}, which is not there"
        elif fragment and there.endswith(".md") and fragment not in anchors(tree.text(root, there)):
            yield f"links to {link}, and {there} has no such heading"


def main(root):
    names = tree.files(root, ".md")
    problems = [f"{name}: {problem}" for name in names
                for problem in bad_links(root, name, tree.text(root, name) or "")]
    tree.finish("links", problems, len(names))


if __name__ == "__main__":
    main(sys.argv[1])
