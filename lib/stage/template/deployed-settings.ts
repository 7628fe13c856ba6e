import { createHash } from 'node:crypto';

type Values = Readonly<Record<string, unknown>>;

/** The stack's output that names the settings of its last deployment. */
export const settingsOutput = 'Settings';

const digestOf = (name: string, value: unknown): string =>
  createHash('sha256').update(`${name}=${value}`).digest('hex').slice(0, 8);

/** What a deployment writes down of the settings that differ from the defaults: their names, and digests of their values. */
export const recordOf = (values: Values, usual: Values): string => {
  const set = Object.entries(values)
    .filter(([name, value]) => String(value) !== String(usual[name]))
    .map(([name, value]) => `${name}=${digestOf(name, value)}`);
  // An output of a stack must have a text.
  return set.sort().join(' ') || 'none';
};

const entriesOf = (record: string): [string, string][] =>
  record.split(' ').flatMap((each) => {
    const [name, digest] = each.split('=');
    return name && digest ? [[name, digest]] : [];
  });

/**
 * The settings of the last deployment in whose place the next one has a default. A default that has become what was set is no loss,
 * and neither is a setting that is no more.
 */
export const lostSettings = (deployed: string, next: string, values: Values): string[] => {
  const kept = new Map(entriesOf(next));
  return entriesOf(deployed)
    .filter(([name, digest]) => !kept.has(name) && name in values && digestOf(name, values[name]) !== digest)
    .map(([name]) => name);
};
