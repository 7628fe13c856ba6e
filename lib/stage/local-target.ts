import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import * as z from 'zod';
import { jsonIn } from '../message/json.ts';
import { awsClients } from './aws-clients.ts';
import { RefusedError, UsageError } from './command-errors.ts';

const descriptionSchema = z.looseObject({
  platform: z.url(),
  sqs: z.url(),
  s3: z.url(),
  secretsManager: z.url(),
  /** The file of an older stack lacks these. */
  lambda: z.url().optional(),
  dynamodb: z.url().optional(),
  table: z.string().optional(),
  deskTable: z.string().optional(),
  crosswalkTable: z.string().optional(),
  functionLog: z.string().optional(),
  version: z.string().optional(),
  commit: z.string().optional(),
  region: z.string(),
  queues: z.record(z.string(), z.url()),
  deadLetters: z.url(),
  bucket: z.string(),
  secrets: z.looseObject({ service: z.string(), userPrefix: z.string() }),
});

/** The deployment that `npm run local` runs on this machine; true: that of the project which contains this folder. */
export const localTarget = (file: string | true, folder = process.cwd()) => {
  const stack = descriptionIn(file === true ? stackFileOf(folder) : resolve(file));
  const at = (endpoint: string) => ({
    endpoint,
    region: stack.region,
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    forcePathStyle: true,
  });
  return {
    prefix: stack.deadLetters.replace(/^.*\/|dead-letters$/g, ''),
    ...awsClients((service) => at(stack[service] ?? stack.sqs)),
    lambdaOptions: stack.lambda === undefined ? undefined : at(stack.lambda),
    ledgerTable: stack.dynamodb === undefined ? undefined : stack.table,
    deskTable: stack.dynamodb === undefined ? undefined : stack.deskTable,
    crosswalkTable: stack.dynamodb === undefined ? undefined : stack.crosswalkTable,
    functionLog: stack.functionLog === undefined ? undefined : { file: stack.functionLog },
    deployed: async () => ({ version: stack.version, commit: stack.commit }),
    deadLetterQueueUrl: async () => stack.deadLetters,
    queueUrlOf: async (functionName: string) =>
      Object.hasOwn(stack.queues, functionName) ? stack.queues[functionName] : undefined,
    bucket: async () => stack.bucket,
    platform: async () => ({
      PLATFORM_URL: stack.platform,
      SECRET_PREFIX: stack.secrets.service.replace(/\/service$/, ''),
    }),
  };
};

/** Looks in this folder, then in each one above it. Security: it stops at the project, because a file above may be another user's. */
const stackFileOf = (folder: string): string => {
  const folders = [folder];
  for (let last = folder; dirname(last) !== last; last = dirname(last)) folders.push(dirname(last));
  const project = folders.findIndex((each) => existsSync(join(each, 'package.json')));
  const files = folders.slice(0, Math.max(project, 0) + 1).map((each) => join(each, '.local/stack.json'));
  const found = files.find(existsSync);
  if (found !== undefined) return found;
  throw new RefusedError(
    project < 0
      ? `${folder} is not in a project of sis-relay. Run this in the project’s folder, or pass --stack with the path of its .local/stack.json.`
      : `No local stack is up in ${folders[project]}. Start \`npm run local\` there first, in another terminal.`,
  );
};

const descriptionIn = (file: string) => {
  const json = jsonIn(textIn(file));
  if (json === undefined) throw new UsageError(`${file} is not JSON.`);
  const parsed = descriptionSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map(({ path }) => path.join('.')).join(', ');
  throw new UsageError(`${file} was not written by this version of \`npm run local\`: ${fields}`);
};

const textIn = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (isMissing)
      throw new UsageError(
        `There is no file ${file}. Pass the .local/stack.json that \`npm run local\` writes while it runs.`,
      );
    throw new UsageError(`${file} cannot be read.`);
  }
};
