// Walks the types of the requests of SDK packages, and makes of each field that a request can hold, however deep, two requests that
// differ in nothing else.

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

// What a test sets itself.
const stands = ['model', 'messages', 'stream', 'stream_options', 'background'];

const packages = join(dirname(fileURLToPath(import.meta.url)), 'node_modules');

// Fields that a value is made with although the types do not demand them: without them it is refused, or says nothing.
const needed = ['schema', 'image_url', 'file_data', 'call_id', 'content'];

// Calls and functions have a name.
const named = /^Function(Call|Declaration|Response)$/;

/** How many values of a type are tried. */
const most = 3;

const schema = { type: 'object', properties: { canary: { type: 'string' } } };

/** Values that a protocol reads, by the names of their fields; of each two. */
const known = {
  data: ['Y2FuYXJ5', 'Y2FuYXJ6'],
  imageBytes: ['Y2FuYXJ5', 'Y2FuYXJ6'],
  file_data: ['data:text/plain;base64,Y2FuYXJ5', 'data:text/plain;base64,Y2FuYXJ6'],
  image_url: ['data:image/png;base64,iVBORw0KGgo=', 'data:image/png;base64,iVBORw0KGgoA'],
  url: ['https://canary.example/a.png', 'https://canary.example/b.png'],
  file_url: ['https://canary.example/a.pdf', 'https://canary.example/b.pdf'],
  fileUri: ['https://canary.example/a.png', 'https://canary.example/b.png'],
  mimeType: ['image/png', 'image/jpeg'],
  responseMimeType: ['application/json', 'text/plain'],
  arguments: ['{"canary":1}', '{"canary":2}'],
  parameters: [schema],
  parametersJsonSchema: [schema],
  responseJsonSchema: [schema],
  responseSchema: [{ type: 'OBJECT', properties: { canary: { type: 'STRING' } } }],
  input_schema: [schema],
  schema: [schema],
  role: ['user', 'assistant'],
  input: [{ canary: 1 }, { canary: 2 }],
  images: [['iVBORw0KGgo='], ['iVBORw0KGgoA']],
};

/** A program that knows the types of a file of a package, or undefined where that is not installed. */
function load(file) {
  const path = join(packages, file);
  if (!existsSync(path)) return undefined;
  const program = ts.createProgram([path], { skipLibCheck: true, types: [], target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext, strict: true });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(path);
  return { checker, source, exported: new Map(checker.getExportsOfModule(checker.getSymbolAtLocation(source)).map((s) => [s.name, s])) };
}

/** All fields below the types that roots names: {name, before, after}, two requests each. A request is made by a root's request. */
export function fields(file, roots) {
  const types = load(file);
  if (!types) return undefined;
  const { checker, source, exported } = types;
  const found = [];
  const seen = new Set();

  const bare = (type) => (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown) ? type : checker.getNonNullableType(type));
  const members = (type) => (type.isUnion() ? type.types : [type]).map(bare).filter((t) => !(t.flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Null | ts.TypeFlags.Never)));
  const object = (type) => type.isIntersection() || (type.flags & ts.TypeFlags.Object) !== 0;
  const list = (type) => checker.isArrayType(type) || checker.isTupleType(type);
  const element = (type) => checker.getTypeArguments(type)[0];
  const properties = (type) => checker.getPropertiesOfType(type);
  const typeOf = (property) => bare(checker.getTypeOfSymbolAtLocation(property, source));
  const optional = (property) => (property.flags & ts.SymbolFlags.Optional) !== 0;

  /** The shortest value of a type. */
  function sample(type, name, depth = 0) {
    return values(type, name, depth)[0];
  }

  /** Whether a type is of what a known value is. */
  const reads = (t, value) => (t.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) !== 0 ||
    (typeof value === 'string' ? (t.flags & ts.TypeFlags.String) !== 0 : Array.isArray(value) ? list(t) : object(t) && !list(t));

  /** A value for each member of a type; two of what is free. */
  function values(type, name, depth = 0) {
    if (depth > 12) return [];
    if (known[name] && members(type).some((t) => reads(t, known[name][0]))) return known[name];
    const all = [];
    for (const t of members(type)) {
      if (t.isLiteral()) all.push(t.value);
      else if (t.flags & ts.TypeFlags.BooleanLiteral) all.push(t.intrinsicName === 'true');
      else if (t.flags & ts.TypeFlags.Boolean) all.push(true, false);
      else if (t.flags & ts.TypeFlags.StringLike) all.push('canary', 'canaries');
      else if (t.flags & ts.TypeFlags.NumberLike) all.push(1, 2);
      else if (list(t)) all.push([sample(element(t), '', depth + 1)]);
      else if (t.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) all.push('canary', 'canaries');
      else if (t.isIntersection() && t.types.some((x) => x.flags & ts.TypeFlags.String)) all.push('canary', 'canaries');
      else if (object(t) && t.getCallSignatures().length === 0) all.push(shortest(t, depth));
    }
    return all.slice(0, most);
  }

  function shortest(type, depth) {
    const value = {};
    const bare = properties(type).every(optional); // an object of nothing says nothing: it has its first member
    for (const [i, property] of properties(type).entries()) {
      if (optional(property) && !(bare && i === 0) && !needed.includes(property.name) && !(property.name === 'name' && named.test(nameOf(type, '')))) continue;
      const v = sample(typeOf(property), property.name, depth + 1);
      if (v !== undefined) value[property.name] = v;
    }
    if (Object.keys(value).length === 0 && checker.getIndexInfosOfType(type).length) return { canary: 'canary' };
    return value;
  }

  function nameOf(type, inside) {
    const symbol = type.aliasSymbol ?? type.symbol;
    if (!symbol || symbol.name.startsWith('__')) return inside;
    const parent = symbol.parent && symbol.parent.flags & ts.SymbolFlags.Module && !symbol.parent.name.startsWith('"') ? `${symbol.parent.name}.` : '';
    return parent + symbol.name;
  }

  /** Visits the fields of an object, which place puts into a request. */
  function visit(type, name, place, inside) {
    if (seen.has(name)) return;
    seen.add(name);
    const base = shortest(type, 0);
    for (const property of properties(type)) {
      if (property.flags & ts.SymbolFlags.Method) continue;
      const key = property.name, full = `${name.replace(/\bBeta/g, '')}.${key}`;
      const { [key]: had, ...rest } = base;
      const put = (v) => place({ ...base, [key]: v });
      const t = typeOf(property);
      const options = values(t, key);
      const free = members(t).every((m) => m.isLiteral()) && members(t).length === 1;
      const own = stands.includes(key) && /(ParamsBase|Request)$/.test(name);
      if (own && key !== 'messages') continue;
      if (key !== 'type' && !free && !own) {
        const others = options.filter((v) => JSON.stringify(v) !== JSON.stringify(had) && JSON.stringify(v) !== '{}');
        found.push({ name: full, inside, before: place(had === undefined || !others.length ? rest : base), after: others.length || had === undefined ? others.map(put) : [place(base)], closed: members(t).every((m) => m.isLiteral()) });
      }
      inner(t, full, put);
    }
  }

  /** Visits the objects among the members of a type. */
  function inner(type, name, place) {
    for (const t of members(type)) {
      if (list(t)) inner(element(t), name, (v) => place([v]));
      else if (object(t) && t.getCallSignatures().length === 0) visit(t, nameOf(t, name), place, name.replace(/\bBeta/g, ''));
    }
  }

  for (const { type, request } of roots) {
    if (!exported.has(type)) throw new Error(`${file} has no type ${type}`);
    inner(checker.getDeclaredTypeOfSymbol(exported.get(type)), type, request);
  }
  return found;
}
