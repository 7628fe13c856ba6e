import { type Field, type Item, itemBytes } from './table.ts';

/** DynamoDB takes items of 400 KB. What is left is for claims that are given back, and for clocks that differ. */
const maxBytes = 256 * 1024;

/** So few fields fit, whatever they hold: nothing is measured, as for nearly every resource. */
const fewFields = 64;

/** How much a claim may grow when it ends: by its outcome, and by what the platform said. */
const growth = { repeatable: 100, once: 1_000 };

const bytesWhenEnded = (item: Item): number =>
  Object.values(item.fields).reduce(
    (sum, { outcome, once }) => sum + (outcome === 'done' ? 0 : growth[once ? 'once' : 'repeatable']),
    itemBytes(item),
  );

/** Whether a claim makes more of an item than it may be. One that leaves it no larger is taken in any case. */
export const overfills = (item: Item, before: Item): boolean => {
  if (Object.keys(item.fields).length <= fewFields) return false;
  const bytes = bytesWhenEnded(item);
  return bytes > maxBytes && bytes > bytesWhenEnded(before);
};

/**
 * Half of it at most, without what was claimed longest ago; but no field of these, and none whose message its queue may show again.
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
