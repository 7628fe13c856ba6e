import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { readMapping } from '../../../delivery/mapping/mapping.ts';
import type { OperatorContext } from '../../../desk/operator-actions/operator-context.ts';
import { audited } from '../../../desk/stage-state/execution.ts';
import { countOf } from '../../../desk/views/format.ts';
import { text } from '../../../desk/views/view.ts';
import { UsageError } from '../../../stage/command-errors.ts';
import type { Integrations } from '../../../stage/integrations.ts';
import { isSnapshot, isTable } from '../feed.ts';
import { mappingKeysOf, mappingOfAll } from '../package/mapping-file.ts';
import { settingsIn, settingsKey } from '../package/settings-file.ts';
import { checkReadable, keyOf } from './compare-here.ts';
import { diffSnapshot, storeOf } from './diff.ts';
import { diffView } from './views/snapshots.ts';

type Put = {
  file: string;
  name?: string | undefined;
  /** The file is the mapping of this table, or of `all`. */
  mappingOf?: string | undefined;
  reason?: string | undefined;
  integrations: Integrations;
  /** Shows how much of the comparison is done. */
  onProgress?: (share: number) => void;
};

export type PutFile = { key: string; bytes: number };

/**
 * Puts a file into the bucket, after it was looked at as an import would do. Undefined: it was declined.
 * @throws UsageError, RefusedError if it could not be imported.
 */
export const putFile = async (operator: OperatorContext, given: Put): Promise<PutFile | undefined> => {
  const { target, audit, show, ask, progress } = operator;
  const { file, reason } = given;
  await checkReadable(file);
  const key = await examined(operator, given);
  const { size: bytes } = await stat(file);
  const store = await storeOf(target);
  const isNew = (await store.etagOf(key)) === undefined;
  const act = `Put ${countOf(bytes, 'byte')} at ${key}${isNew || isSnapshot(key) ? '' : ', in place of what is there'}`;
  if ((await ask({ act })) === undefined) return undefined;
  const showProgress = progress('Putting');
  const pieces = async function* (): AsyncGenerator<Buffer> {
    let done = 0;
    for await (const piece of createReadStream(file, { highWaterMark: 256 * 1024 })) {
      done += (piece as Buffer).length;
      showProgress(done, bytes);
      yield piece as Buffer;
    }
  };
  const type = isTable(key) ? 'text/csv' : isSnapshot(key) ? 'application/zip' : 'application/json';
  await audited(audit, { command: 'snapshots put', filter: { key }, reason, done: 'put' }, () =>
    store.upload(key, type, pieces()),
  );
  const next = isSnapshot(key) ? 'It is imported now.' : 'The next import uses it.';
  show(
    'Result',
    [
      { tone: 'good', text: `${basename(file)} is in the bucket, at ${key}` },
      text(next),
      { lead: 'Next', command: isSnapshot(key) ? 'snapshots list' : 'snapshots put <export>' },
    ],
    { put: { key, bytes } },
  );
  return { key, bytes };
};

/** The key for it. Shows what an import will do. */
const examined = async ({ target, show }: OperatorContext, given: Put): Promise<string> => {
  const { file, name, mappingOf, integrations, onProgress } = given;
  if (mappingOf !== undefined) {
    const read = readMapping(await readFile(file, 'utf8'), integrations);
    if ('problems' in read) throw new UsageError(`${file} is no mapping: ${read.problems.join('; ')}.`);
    return mappingOf === 'all'
      ? mappingOfAll
      : mappingKeysOf(/\.csv$/i.test(mappingOf) ? mappingOf : `${mappingOf}.csv`)[0];
  }
  if (basename(file) === settingsKey) {
    const read = settingsIn(await readFile(file, 'utf8'));
    if ('problem' in read) throw new UsageError(`${file} ${read.problem}.`);
    return settingsKey;
  }
  const key = keyOf(file, name);
  if (!isSnapshot(key))
    throw new UsageError(
      `${key} is neither a zip nor a table: nothing would import it. The name of a table ends in .csv, unpacked. For a mapping, give --mapping-of; settings are in ${settingsKey}.`,
    );
  const diff = await diffSnapshot(target, { file, name, ...(onProgress && { onProgress }) }, integrations);
  show('Plan', diffView(diff));
  return key;
};
