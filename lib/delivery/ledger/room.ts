import { type Field, type Item, itemBytes } from './table.ts';

/** DynamoDB takes items of 400 KB. The rest is for claims that are given back, and for clocks that differ. */
const maxBytes = 256 * 1024;

/** This many fields always fit: nothing is measured for nearly every resource. */
const fewFields = 64;

/** Bytes by which a claim may grow when it ends: by its outcome, and by the platform's words. */
const growth = { repeatable: 100, once: 1_000 };

const bytesWhenEnded = (item: Item): number =>
  Object.values(item.fields).reduce(
    (sum, { outcome, once }) => sum + (outcome === 'done' ? 0 : growth[once ? 'once' : 'repeatable']),
    itemBytes(item),
  );

/** Whether a claim makes an item larger than allowed. A claim that leaves it no larger is always allowed. */
export const overfills = (item: Item, before: Item): boolean => {
  if (Object.keys(item.fields).length <= fewFields) return false;
  const bytes = bytesWhenEnded(item);
  return bytes > maxBytes && bytes > bytesWhenEnded(before);
};

/**
 * Removes the oldest claims until the item has half of the limit at most. It keeps the given fields, and all fields whose message
 * may be delivered again.
 */
export const withRoom = (
  item: Item,
  { keeping, beforeMs }: { keeping: readonly string[]; beforeMs: number },
): Item => {
  const left = { ...item, fields: { ...item.fields } };
  const oldest = Object.entries(item.fields)
    .filter(([field, { claimedMs }]) => claimedMs <= beforeMs && !keeping.includes(field))
    .sort(([, one], [, other]) => one.claimedMs - other.claimedMs);
  let bytes = bytesWhenEnded(item);
  for (const [field, state] of oldest) {
    if (bytes <= maxBytes / 2) break;
    bytes -= bytesOf(field, state);
    delete left.fields[field];
  }
  return left;
};

const bytesOf = (field: string, state: Field): number =>
  bytesWhenEnded({ ...nothing, fields: { [field]: state } }) - itemBytes(nothing);

const nothing: Item = {
  ...{ claimId: '', leaseMs: 0, graceEndsMs: 0, heldMs: 0, last: '', fields: {}, seen: {} },
};
