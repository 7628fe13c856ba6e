/** JSON without its values: only names and types. */
export const shapeOf = (value: unknown, depth = 0): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) {
    if (value.length === 0) return 'an empty array';
    return depth < maxDepth ? `an array of ${shapeOf(value[0], depth + 1)}` : 'an array';
  }
  if (typeof value !== 'object') return typeof value;
  const fields = Object.keys(value);
  if (depth === maxDepth || fields.length === 0) return fields.length === 0 ? '{}' : 'an object';
  const shapes = fields.slice(0, maxFields).map((name) => {
    const each = (value as Record<string, unknown>)[name];
    return `${/^[A-Za-z_]\w{0,39}$/.test(name) ? name : '…'}: ${shapeOf(each, depth + 1)}`;
  });
  return `{ ${shapes.join(', ')}${fields.length > maxFields ? ', …' : ''} }`;
};

const maxDepth = 3;
const maxFields = 20;
