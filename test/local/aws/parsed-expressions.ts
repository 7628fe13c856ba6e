import { createRequire } from 'node:module';

type Values = Record<string, object>;
type Context = {
  attrNames?: Record<string, string>;
  attrVals?: Values;
  unusedAttrNames: Record<string, true>;
  unusedAttrVals: Record<string, true>;
  isKeyCondition?: boolean;
};
type Parse = (text: string, options: { context: Context }) => unknown;
type Parsed = {
  tree: object;
  values: Values;
  unusedNames: Context['unusedAttrNames'];
  unusedValues: Context['unusedAttrVals'];
};

const maxParsed = 1_000;

/**
 * dynalite's parsers read each part of an expression again and again: it takes them longer than all else that dynalite does for a
 * write. What was parsed serves for the same expression with other values of the same types. Once per process, as these are its
 * own parts.
 */
export function rememberExpressions() {
  const require = createRequire(import.meta.url);
  for (const name of ['conditionParser', 'updateParser']) {
    const parser: { parse: Parse & { remembers?: true } } = require(`dynalite/db/${name}`);
    if (!parser.parse.remembers)
      parser.parse = Object.assign(remembering(parser.parse), { remembers: true } as const);
  }
}

function remembering(parse: Parse): Parse {
  const known = new Map<string, Parsed>();
  return (text, { context }) => {
    // Whether these are valid depends on the values themselves.
    if (/between|attribute_type/i.test(text)) return parse(text, { context });
    const { attrNames, attrVals = {}, isKeyCondition } = context;
    const types = Object.entries(attrVals).map(([name, value]) => [name, Object.keys(value)]);
    const unused = [Object.keys(context.unusedAttrNames), Object.keys(context.unusedAttrVals)];
    const key = JSON.stringify([text, attrNames, types, unused, isKeyCondition]);
    const before = known.get(key);
    if (before === undefined) {
      const tree = parse(text, { context });
      if (typeof tree !== 'object' || tree === null) return tree;
      if (known.size === maxParsed) known.clear();
      const { unusedAttrNames, unusedAttrVals } = context;
      const left = { unusedNames: { ...unusedAttrNames }, unusedValues: { ...unusedAttrVals } };
      known.set(key, { tree, values: attrVals, ...left });
      return withValues(tree, new Map());
    }
    context.unusedAttrNames = { ...before.unusedNames };
    context.unusedAttrVals = { ...before.unusedValues };
    return withValues(
      before.tree,
      new Map(Object.entries(before.values).map(([name, value]) => [value, attrVals[name]])),
    );
  };
}

/** A copy, as its reader may change it, with values in place of others. */
function withValues(tree: unknown, values: ReadonlyMap<unknown, unknown>): unknown {
  if (typeof tree !== 'object' || tree === null) return tree;
  const value = values.get(tree);
  if (value !== undefined) return value;
  if (Array.isArray(tree)) return tree.map((each) => withValues(each, values));
  return Object.assign(
    Object.create(Object.getPrototypeOf(tree)),
    Object.fromEntries(Object.entries(tree).map(([name, each]) => [name, withValues(each, values)])),
  );
}
