import { encodeItem } from './codec.ts';
import { newestAttemptMs, type ResourceState, withoutForgotten } from './item.ts';

/** DynamoDB takes items of 400 KB. The rest is for what an open change adds. */
const maxBytes = 256 * 1024;
/** This many fields always fit: nothing is measured for nearly every resource. */
const fewFields = 64;
/** Bytes that a new field may need, and by which an open change may grow: names, versions, and the platform's words. */
const maxGrowthBytes = 1_000;

/** Number of remembered changes of the resource, and how many of them have no outcome. */
export type ItemFull = { kind: 'full'; fields: number; open: number };

type CapacityRequest = { adding: readonly string[]; decided: boolean; nowMs: number };

/**
 * The item with room for these fields. If it has no room, changes that are older than the memory are forgotten. If a person has checked
 * what the platform holds, the oldest changes are forgotten, too, until half of the limit is left.
 */
export const withCapacityFor = (
  item: ResourceState,
  { adding, decided, nowMs }: CapacityRequest,
): ResourceState | ItemFull => {
  if (fits(item, adding)) return item;
  const young = withoutForgotten(item, nowMs);
  const left = decided ? withoutOldest(young, { keeping: adding, beforeMs: nowMs - settledMs }) : young;
  if (fits(left, adding)) return left;
  const open = Object.values(item.fields).filter((field) => field.open);
  return { kind: 'full', fields: Object.keys(item.fields).length, open: open.length };
};

/** A message that began a change before that was redelivered by now, or is a letter. */
const settledMs = 3_600_000;

const fits = (item: ResourceState, adding: readonly string[]): boolean => {
  const added = adding.filter((name) => item.fields[name] === undefined).length;
  if (added === 0 || Object.keys(item.fields).length + added <= fewFields) return true;
  return grownBytes(item) + added * maxGrowthBytes <= maxBytes;
};

/** With the platform's words about all open changes. */
const grownBytes = (item: ResourceState): number => {
  const open = Object.values(item.fields).filter((field) => field.open).length;
  return itemBytes(item) + open * maxGrowthBytes;
};

/** As DynamoDB counts them, about. */
export const itemBytes = (item: ResourceState): number =>
  Object.entries(encodeItem(item)).reduce(
    (sum, [name, { S, N = '' }]) => sum + Buffer.byteLength(name) + Buffer.byteLength(S ?? N),
    0,
  );

const withoutOldest = (
  item: ResourceState,
  { keeping, beforeMs }: { keeping: readonly string[]; beforeMs: number },
): ResourceState => {
  const fields = { ...item.fields };
  const oldest = Object.entries(fields)
    .filter(([name, field]) => newestAttemptMs(field) <= beforeMs && !keeping.includes(name))
    .sort(([, one], [, other]) => newestAttemptMs(one) - newestAttemptMs(other));
  let bytes = grownBytes(item);
  const empty = grownBytes({ ...item, fields: {} });
  for (const [name, field] of oldest) {
    if (bytes <= maxBytes / 2) break;
    bytes -= grownBytes({ ...item, fields: { [name]: field } }) - empty;
    delete fields[name];
  }
  return { ...item, fields };
};
