import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll } from 'vitest';
import type { Outcome } from '../../../../lib/message/failure.ts';
import { type Target, targetFrom } from '../../../../lib/stage/target.ts';
import { type Controls, controlsOf } from '../../../local/controls.ts';
import { inThisProcess } from '../../../local/in-this-process.ts';
import { type Stack, type StackOptions, startStack } from '../../../local/stack.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { eventBody } from './office.ts';

type OfficeOptions = StackOptions & {
  /** These functions alone, each in this process. */
  inProcess?: readonly string[];
};

/** The whole of sis-relay on this machine for a test file, as the command meets it. */
export function localOffice({ inProcess, ...options }: OfficeOptions = {}) {
  const folder = temporaryFolder();
  const file = join(folder, 'stack.json');
  let stack: Stack;
  const ends = new Map<string, PromiseWithResolvers<Outcome>>();
  const endOf = (messageId: string): PromiseWithResolvers<Outcome> => {
    const end = ends.get(messageId) ?? Promise.withResolvers<Outcome>();
    ends.set(messageId, end);
    return end;
  };
  const { onLog } = options;
  const lambda: StackOptions['lambda'] = (description, settings) =>
    inThisProcess(description, settings, { onLog, onEnd: (id, outcome) => endOf(id).resolve(outcome) });
  beforeAll(async () => {
    stack = await startStack({ ...options, ...(inProcess && { functions: inProcess, lambda }) });
    writeFileSync(file, JSON.stringify(stack.description));
  });
  afterAll(() => stack.close());
  return {
    folder,
    file,
    stack: () => stack,
    /** What has become of a message of a function in this process. */
    ended: (messageId: string): Promise<Outcome> => endOf(messageId).promise,
    controls: (): Controls => controlsOf(stack.description),
    /** Sends a message to its function; answers SQS' id of it. */
    send: async (name: string, data: object, event: object = {}): Promise<string> => {
      const { sqs, description } = stack;
      const MessageBody = eventBody(name, data, event);
      const { MessageId = '' } = await sqs.send(
        new SendMessageCommand({ QueueUrl: description.queues[name], MessageBody }),
      );
      return MessageId;
    },
    /** Has the platform know these learners, in course 2001. */
    enrol: (userIds: readonly number[]) =>
      controlsOf(stack.description).seed({
        users: userIds.map((userId) => ({
          userId,
          userName: `u${userId}`,
          firstName: 'L',
          lastName: `${userId}`,
        })),
        enrollments: userIds.map((userId) => ({ orgUnitId: 2001, userId, roleId: 110 })),
      }),
    /** With other settings of the platform than the local ones. */
    target: (settings: Record<string, string> = {}): Target => {
      const target = targetFrom({ local: file, as: 'a test' });
      return { ...target, platform: async () => ({ ...(await target.platform()), ...settings }) };
    },
  };
}
