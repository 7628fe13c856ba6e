import { PutObjectCommand } from '@aws-sdk/client-s3';
import { movedKey } from '../../../../lib/crosswalk/moved.ts';
import { bucketOf, createCrosswalkTable } from '../../../../lib/crosswalk/table.ts';
import { createQuickDynamoDb } from '../../../../lib/runtime/aws/dynamodb-quick.ts';
import { localOffice } from '../../../lib/desk/cli/local-office.ts';
import { type Follow, typeEachCommand, typeFor } from '../../../lib/desk/cli/typed-runbook.ts';
import { localClient } from '../../../local/aws/aws.ts';

const office = localOffice({ functions: false });

/** A code that has moved, as a fill tells it: each time from elsewhere, as nobody has accepted that yet. */
let moves = 0;
const codeThatMoved = async () => {
  const { description, s3 } = office.stack();
  moves += 1;
  const [code, moved] = ['MATH-101', { ids: [2002], was: [3000 + moves] }] as const;
  const dynamodb = createQuickDynamoDb(localClient(description.dynamodb));
  const table = createCrosswalkTable({ dynamodb, table: description.crosswalkTable, nowMs: Date.now });
  const bucket = bucketOf('orgUnitCode', 'platform', code);
  await table.put([{ bucket, entries: new Map([[code, { ids: [...moved.ids], was: [...moved.was] }]]) }]);
  const Body = JSON.stringify({ codes: [{ code, ...moved, sinceMs: Date.now() }] });
  await s3.send(new PutObjectCommand({ Bucket: description.bucket, Key: movedKey('platform'), Body }));
};

/** The function that fills the crosswalk, when it is invoked. */
const fillThatEnds = (): void => {
  const { executions } = office.stack();
  const result = { outcome: 'filled', message: 'The crosswalk is filled.' };
  executions.serve((name, event, execution) =>
    executions.run(
      event,
      {
        functionArn: `arn:aws:lambda:us-east-1:000000000000:function:${name}`,
        executionTimeoutMs: 60_000,
        name: execution,
      },
      async () => ({ ok: true, payload: { Status: 'SUCCEEDED', Result: JSON.stringify(result) } }),
    ),
  );
};

const follow: Follow = async (command, more) => {
  await codeThatMoved();
  fillThatEnds();
  return typeFor(office, command, { more });
};

typeEachCommand('lib/options/crosswalk-fill/README.md', follow);
