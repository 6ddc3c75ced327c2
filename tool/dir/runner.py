"""Runs tools that are written in Python, and reads what their functions take.

runner.py describe FILE        prints the typed functions of a file; nothing of the file runs
runner.py call FILE NAME       calls a function with the JSON object on standard input
runner.py execute PARENT NAME  calls execute() of the package NAME in PARENT with it

The answer is one JSON object on standard output. What a tool itself prints goes to standard error.
"""

import ast
import dataclasses
import enum
import inspect
import json
import os
import re
import sys

# ---------------------------------------------------------------- describe


class Wrong(Exception):
    """Something in a file is wrong, at a line."""

    def __init__(self, node, message):
        super().__init__(message)
        self.line = getattr(node, "lineno", 0)


PLAIN = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "dict": {"type": "object"},
    "list": {"type": "array"},
    "set": {"type": "array", "uniqueItems": True},
    "tuple": {"type": "array"},
    "Any": {},
    "object": {},
    "None": {"type": "null"},
    "Path": {"type": "string"},
    "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"},
}
PLAIN.update({"Dict": PLAIN["dict"], "List": PLAIN["list"], "Mapping": PLAIN["dict"], "Sequence": PLAIN["list"], "Iterable": PLAIN["list"]})
LISTS = {"list", "List", "Sequence", "Iterable", "Collection", "set", "Set", "frozenset", "FrozenSet"}
MAPS = {"dict", "Dict", "Mapping", "MutableMapping"}


class Reader:
    """Turns annotations into JSON Schema, as far as a file itself says what they mean."""

    def __init__(self, tree):
        self.classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
        self.paths = set()  # lines of annotations that are paths
        self.open = []  # classes that are being read

    def type(self, node):
        if isinstance(node, ast.Constant) and node.value is None:
            return {"type": "null"}
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                return self.type(ast.copy_location(ast.parse(node.value, mode="eval").body, node))
            except SyntaxError:
                raise Wrong(node, "the annotation %r is no type" % node.value) from None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self.union([node.left, node.right])
        if isinstance(node, ast.Subscript):
            return self.generic(node, name_of(node.value))
        name = name_of(node)
        if name in self.classes:
            return self.cls(self.classes[name])
        if name in PLAIN:
            return dict(PLAIN[name])
        raise Wrong(node, "there is no schema for the annotation %s; use str, int, float, bool, list[..], dict[str, ..], Literal[..], "
                    "Optional[..], Path, or an Enum, TypedDict or dataclass of this file" % ast.unparse(node))

    def generic(self, node, name):
        args = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name == "Annotated":
            schema = self.type(args[0])
            for extra in args[1:]:
                if isinstance(extra, ast.Constant) and isinstance(extra.value, str):
                    schema["description"] = extra.value
            return schema
        if name == "Literal":
            try:
                return literal([ast.literal_eval(a) for a in args])
            except ValueError:
                raise Wrong(node, "Literal[..] holds plain values") from None
        if name == "Optional":
            return self.union(args + [ast.Constant(value=None)])
        if name == "Union":
            return self.union(args)
        if name in ("Required", "NotRequired"):
            return self.type(args[0])
        if name in LISTS:
            schema = {"type": "array", "items": self.type(args[0])}
            if "et" in name:
                schema["uniqueItems"] = True
            return schema
        if name in ("tuple", "Tuple"):
            if len(args) == 2 and isinstance(args[1], ast.Constant) and args[1].value is ...:
                return {"type": "array", "items": self.type(args[0])}
            return {"type": "array", "prefixItems": [self.type(a) for a in args], "items": False, "minItems": len(args)}
        if name in MAPS and len(args) == 2:
            if name_of(args[0]) != "str":
                raise Wrong(node, "the keys of a JSON object are str")
            return {"type": "object", "additionalProperties": self.type(args[1])}
        raise Wrong(node, "there is no schema for the annotation %s" % ast.unparse(node))

    def union(self, nodes):
        parts = []
        for n in nodes:
            schema = self.type(n)
            parts.extend(schema["anyOf"] if list(schema) == ["anyOf"] else [schema])
        if all(list(p) == ["type"] and isinstance(p["type"], str) for p in parts):
            return {"type": list(dict.fromkeys(p["type"] for p in parts))}
        return {"anyOf": parts}

    def cls(self, node):
        if node.name in self.open:
            raise Wrong(node, "the class %s holds itself" % node.name)
        self.open.append(node.name)
        try:
            bases = {name_of(b) for b in node.bases}
            if bases & {"Enum", "StrEnum", "IntEnum"}:
                return self.enum(node)
            if "TypedDict" in bases or any("dataclass" == name_of(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list):
                return self.record(node, "TypedDict" in bases)
        finally:
            self.open.pop()
        raise Wrong(node, "the class %s is no Enum, TypedDict or dataclass" % node.name)

    def enum(self, node):
        values = []
        for s in node.body:
            if isinstance(s, ast.Assign):
                try:
                    values.append(ast.literal_eval(s.value))
                except ValueError:
                    raise Wrong(s, "the values of an Enum for a tool are plain") from None
        return literal(values)

    def record(self, node, typed):
        total = not any(k.arg == "total" and isinstance(k.value, ast.Constant) and k.value.value is False for k in node.keywords)
        properties, required = {}, []
        for s in node.body:
            if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name):
                properties[s.target.id] = self.type(s.annotation)
                outer = name_of(s.annotation.value) if isinstance(s.annotation, ast.Subscript) else ""
                if outer == "Required" or (s.value is None and total and outer != "NotRequired"):
                    required.append(s.target.id)
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        if required:
            schema["required"] = required
        return schema


def literal(values):
    schema = {"enum": values}
    if values and all(isinstance(v, str) for v in values):
        schema = {"type": "string", "enum": values}
    return schema


def name_of(node):
    """The last name of a dotted one: typing.List is List."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Constant) and node.value is None:
        return "None"
    return node.id if isinstance(node, ast.Name) else ""


SECTION = re.compile(r"^(args|arguments|parameters|params)\s*:\s*$", re.I)
ENTRY = re.compile(r"^\s+\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
FIELD = re.compile(r"^\s*:param\s+(?:[\w\[\], .|]+\s+)?(\w+)\s*:\s*(.*)$")


def docstring(text):
    """The description in a docstring, and what it says of each parameter."""
    about, meanings, inside, last, depth = [], {}, False, None, 0
    for line in inspect.cleandoc(text).splitlines():
        if SECTION.match(line):
            inside, last, depth = True, None, 0
            continue
        field = FIELD.match(line)
        if field:
            last = field.group(1)
            meanings[last] = field.group(2).strip()
            continue
        if inside and (not line.strip() or line[0].isspace()):
            indent = len(line) - len(line.lstrip())
            entry = ENTRY.match(line)
            if entry and (not depth or indent <= depth):
                last, depth = entry.group(1), indent
                meanings[last] = entry.group(2).strip()
            elif last and line.strip():
                meanings[last] = (meanings[last] + " " + line.strip()).strip()
            continue
        if last and not inside and line[:1].isspace() and line.strip():
            meanings[last] = (meanings[last] + " " + line.strip()).strip()
            continue
        if re.match(r"^\s*:(type|rtype|return|returns|raises)\b", line):
            continue
        inside, last = False, None
        about.append(line.strip())
    return " ".join(p for p in about if p), meanings


def is_path(node):
    """Whether an annotation is a path, or a list of them."""
    if node is None:
        return False
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.search(r"\bPath\b", node.value) is not None
    return any(name_of(n) == "Path" for n in ast.walk(node))


def function(reader, node, lines):
    about = ast.get_docstring(node, clean=False)
    if not about or not about.strip():
        raise Wrong(node, "the function %s has no docstring, without which no model knows what it is for; a function that is no tool begins with _" % node.name)
    description, meanings = docstring(about)
    a = node.args
    if a.vararg or a.kwarg:
        raise Wrong(node, "the function %s takes any number of arguments: name each of them" % node.name)
    if a.posonlyargs:
        raise Wrong(node, "the function %s has parameters without a name: take the / away" % node.name)
    defaults = [None] * (len(a.args) - len(a.defaults)) + a.defaults + a.kw_defaults
    properties, required, paths = {}, [], []
    for arg, default in zip(a.args + a.kwonlyargs, defaults):
        if arg.annotation is None:
            raise Wrong(arg, "the parameter %s of %s has no type: write %s: str" % (arg.arg, node.name, arg.arg))
        schema = reader.type(arg.annotation)
        if meanings.get(arg.arg):
            schema["description"] = meanings[arg.arg]
        if is_path(arg.annotation):
            paths.append(arg.arg)
        if default is None:
            required.append(arg.arg)
        else:
            try:
                value = ast.literal_eval(default)
                if value is not None:
                    json.dumps(value)
                    schema["default"] = value
            except (ValueError, TypeError):
                pass  # what is worked out when the function is called
        properties[arg.arg] = schema
    for name in meanings:
        if name not in properties:
            raise Wrong(node, "the docstring of %s tells of %s, which is no parameter" % (node.name, name))
    parameters = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        parameters["required"] = required
    return {"name": node.name, "line": node.lineno, "description": description, "parameters": parameters, "paths": paths, "comments": comments(node, lines)}


def comments(node, lines):
    """The comment lines right above a function."""
    first = min([node.lineno] + [d.lineno for d in node.decorator_list])
    found, n = [], first - 2
    while n >= 0 and lines[n].startswith("#") and not lines[n].startswith("#!"):
        found.insert(0, {"line": n + 1, "text": lines[n]})
        n -= 1
    return found


def describe(file):
    with open(file, encoding="utf-8") as f:
        source = f.read()
    try:
        tree = ast.parse(source, file)
    except SyntaxError as e:
        return {"error": e.msg, "line": e.lineno or 0}
    reader, functions, wrong = Reader(tree), [], []
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("_"):
            try:
                functions.append(function(reader, node, source.splitlines()))
            except Wrong as e:
                wrong.append({"error": str(e), "line": e.line})
    return {"functions": functions, "wrong": wrong}


# -------------------------------------------------------------------- call


def convert(value, hint):
    """Makes of a JSON value what an annotation says. The schema has checked it."""
    import collections.abc
    import datetime
    import pathlib
    import types
    import typing

    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return convert(value, args[0])
    if origin is typing.Union or origin is getattr(types, "UnionType", None):
        for one in args:
            if one is type(None) and value is None:
                return None
        for one in args:
            try:
                if one is not type(None) and fits(value, one):
                    return convert(value, one)
            except (TypeError, ValueError):
                continue
        return value
    if value is None:
        return None
    if isinstance(value, list):
        kind = origin or hint
        if args and kind is tuple and args[-1] is not ...:
            return tuple(convert(v, a) for v, a in zip(value, args))
        items = [convert(v, args[0]) for v in value] if args else value
        return kind(items) if kind in (set, frozenset, tuple) else items
    if isinstance(value, dict):
        if dataclasses.is_dataclass(hint):
            hints = typing.get_type_hints(hint, include_extras=True)
            return hint(**{k: convert(v, hints.get(k, typing.Any)) for k, v in value.items()})
        if hasattr(hint, "__total__"):
            hints = typing.get_type_hints(hint)
            return {k: convert(v, hints.get(k, typing.Any)) for k, v in value.items()}
        if args and (origin is dict or origin is collections.abc.Mapping):
            return {k: convert(v, args[1]) for k, v in value.items()}
        return value
    if isinstance(hint, type):
        if issubclass(hint, enum.Enum):
            return hint(value)
        if issubclass(hint, pathlib.PurePath):
            return hint(value)
        if hint in (datetime.date, datetime.datetime) and isinstance(value, str):
            return hint.fromisoformat(value.replace("Z", "+00:00"))
        if hint is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
    return value


def fits(value, hint):
    import typing

    kind = typing.get_origin(hint) or hint
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind in (bool, typing.Any)
    if isinstance(value, list):
        return kind in (list, set, frozenset, tuple)
    if isinstance(value, dict):
        return kind is dict or dataclasses.is_dataclass(kind) or hasattr(kind, "__total__")
    if isinstance(value, str):
        return not (kind in (int, float, list, dict, set, tuple))
    return kind in (int, float) or (isinstance(kind, type) and issubclass(kind, enum.Enum))


def plain(value):
    """What of a result JSON has no form for."""
    import datetime
    import pathlib
    import decimal
    import uuid

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if isinstance(value, (datetime.date, datetime.datetime, datetime.time)):
        return value.isoformat()
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (pathlib.PurePath, decimal.Decimal, uuid.UUID)):
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return value.decode("utf-8", "replace")
    raise TypeError("a result of type %s is nothing that JSON can say" % type(value).__name__)


def run(make):
    """Calls what make returns with the object on standard input, and writes one answer."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a tool prints is no part of its result
    arguments = json.loads(sys.stdin.buffer.read() or b"{}")
    try:
        value = make()(arguments)
        if inspect.isawaitable(value):
            import asyncio

            async def wait():
                return await value

            value = asyncio.run(wait())
        text = json.dumps({"value": value}, ensure_ascii=False, allow_nan=False, default=plain)
    except BaseException as e:  # SystemExit as well: a tool that ends the program has failed
        text = json.dumps({"error": str(e), "type": type(e).__name__, "at": place(e)})
    with answer:
        answer.write(text.encode("utf-8", "replace").decode("utf-8"))
    sys.stdout.flush()


def place(error):
    """File and line of the tool in which an error came up."""
    at, tb = "", error.__traceback__
    if isinstance(error, SyntaxError) and error.filename:
        return "%s:%s" % (error.filename, error.lineno)
    while tb is not None:
        file = tb.tb_frame.f_code.co_filename
        if any(file.startswith(p + os.sep) for p in OWN):
            at = "%s:%d" % (file, tb.tb_lineno)
        tb = tb.tb_next
    return at


OWN = []  # directories of the tool


def paths(*own):
    import site

    OWN.extend(own)
    sys.path.extend(own)
    user = site.getusersitepackages()
    if os.path.isdir(user):
        site.addsitedir(user)


def load(file, name):
    import importlib.util
    import typing

    paths(os.path.dirname(file))
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(file))[0], file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    target = getattr(module, name)
    hints = typing.get_type_hints(target, include_extras=True)
    return lambda arguments: target(**{k: convert(v, hints.get(k, typing.Any)) for k, v in arguments.items()})


class Checkout:
    """Finds the package llf beside the directory of tools, which itself need not be read."""

    def __init__(self, place):
        self.place = place

    def find_spec(self, name, path=None, target=None):
        import importlib.machinery
        import importlib.util

        if name != "llf":
            return None
        init = os.path.join(self.place, "__init__.py")
        if os.path.isfile(init):
            return importlib.util.spec_from_file_location(name, init, submodule_search_locations=[self.place])
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [self.place]
        return spec


def package(parent, name):
    import importlib

    checkout = os.path.join(os.path.dirname(parent), "llf")
    if os.path.isdir(checkout):
        sys.meta_path.append(Checkout(checkout))
        OWN.append(checkout)
    import types

    paths(os.path.join(parent, name), parent)
    tools = types.ModuleType("tools")  # so that tools.NAME can be imported as well
    tools.__path__ = [parent]
    sys.modules["tools"] = tools
    module = importlib.import_module("tools." + name + ".execute")
    return module.execute


def main(argv):
    if argv[1] == "describe":
        json.dump(describe(argv[2]), sys.stdout)
    elif argv[1] == "call":
        run(lambda: load(argv[2], argv[3]))
    elif argv[1] == "execute":
        run(lambda: package(argv[2], argv[3]))


main(["runner"] + sys.argv[1:])
