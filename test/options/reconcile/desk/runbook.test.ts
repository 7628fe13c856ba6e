import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { groupIdOf } from '../../../../lib/options/reconcile/desk/groups.ts';
import { resendResultKey } from '../../../../lib/options/reconcile/record.ts';
import { localOffice } from '../../../lib/desk/cli/local-office.ts';
import { type Follow, typeEachCommand, typeFor } from '../../../lib/desk/cli/typed-runbook.ts';
import { putText } from '../../../local/bucket.ts';
import { findingOf, reportOf, writeRun } from './runs.ts';

const office = localOffice({ functions: false });

/** A comparison that has found one fault, and the function that answers whatever is asked of it. */
const comparison = async (command: string): Promise<string> => {
  const { description, executions } = office.stack();
  const bucket = { s3: await office.target().s3(), bucket: description.bucket };
  const fault = findingOf();
  const isToDecide = / (accept|resend) /.test(command);
  await writeRun(bucket, reportOf(), isToDecide ? [fault] : []);
  executions.serve(async (_, event) => {
    const { id = '', resend } = event as { id?: string; resend?: string };
    if (resend === undefined) await writeRun(bucket, { ...reportOf(), id });
    else {
      const outcomes = [{ resource: fault.resource, outcome: 'sent', messageId: 'm' }];
      await putText(bucket, resendResultKey(resend), JSON.stringify({ id: resend, state: 'done', outcomes }));
    }
    return { ok: true, payload: undefined };
  });
  return groupIdOf(fault);
};

const page = 'november.html';

const follow: Follow = async (command, more) => {
  // It is not written over.
  if (command.includes(page)) rmSync(join(office.folder, page), { force: true });
  return typeFor(office, command, { open: { '<group>': await comparison(command) }, files: [page], more });
};

typeEachCommand('lib/options/reconcile/README.md', follow);
