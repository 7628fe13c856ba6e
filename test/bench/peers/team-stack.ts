import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import { parser } from '@aws-lambda-powertools/batch/parser';
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb';
import { Logger } from '@aws-lambda-powertools/logger';
import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware';
import { JSONStringified } from '@aws-lambda-powertools/parser/helpers';
import { SqsRecordSchema } from '@aws-lambda-powertools/parser/schemas';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import middy from '@middy/core';
import type { Context, SQSEvent } from 'aws-lambda';
import axios from 'axios';
import { z } from 'zod';
import { type Keys, signedPath } from './signing.ts';

// What a team would write today, from the first pages of each library's guide: grade-push on middy, Powertools and axios.
// It has no letters, no metrics, no clock to learn and no refusal to parse. Powertools' idempotency, which stands in the place of a
// ledger, writes a record for each message before and after, and knows nothing of older and newer messages about one resource.

const logger = new Logger({ serviceName: 'grade-push' });

const message = z.object({
  specversion: z.literal('1.0'),
  id: z.string(),
  source: z.string(),
  type: z.literal('sis.grade-push.v1'),
  time: z.iso.datetime({ offset: true }),
  data: z.object({
    orgUnitId: z.int().positive(),
    gradeObjectId: z.int().positive(),
    userId: z.int().positive(),
    grade: z.discriminatedUnion('type', [
      z.object({ type: z.literal('numeric'), points: z.number() }),
      z.object({ type: z.literal('pass-fail'), pass: z.boolean() }),
      z.object({ type: z.literal('selectbox'), value: z.string() }),
      z.object({ type: z.literal('text'), text: z.string() }),
    ]),
    comments: z.string().max(4000),
    privateComments: z.string().max(4000),
  }),
});

// The guide's other form, `innerSchema`, makes this schema anew for each record, and costs more.

const record = SqsRecordSchema.extend({ body: JSONStringified(message) });
const processor = new BatchProcessor(EventType.SQS, { parser, schema: record, logger });
const secrets = new SecretsManagerClient();
const platform = axios.create({ baseURL: process.env.PLATFORM_URL ?? '', timeout: 15_000 });

let keys: Promise<Keys> | undefined;

const readKeys = async (): Promise<Keys> => {
  const SecretId = `${process.env.SECRET_PREFIX}/service`;
  const { SecretString } = await secrets.send(new GetSecretValueCommand({ SecretId }));
  return JSON.parse(SecretString ?? '');
};

platform.interceptors.request.use(async (config) => {
  keys ??= readKeys();
  config.url = signedPath((config.method ?? '').toUpperCase(), config.url ?? '', await keys);
  return config;
});

const pushGrade = async ({ messageId, body: { data } }: z.infer<typeof record>) => {
  const { orgUnitId, gradeObjectId, userId, grade, comments, privateComments } = data;
  const value =
    grade.type === 'numeric'
      ? { GradeObjectType: 1, PointsNumerator: grade.points }
      : grade.type === 'pass-fail'
        ? { GradeObjectType: 2, Pass: grade.pass }
        : grade.type === 'selectbox'
          ? { GradeObjectType: 3, Value: grade.value }
          : { GradeObjectType: 4, Text: grade.text };
  const { status } = await platform.put(
    `/svc/api/le/1.82/${orgUnitId}/grades/${gradeObjectId}/values/${userId}`,
    {
      ...value,
      Comments: { Content: comments, Type: 'Text' },
      PrivateComments: { Content: privateComments, Type: 'Text' },
    },
  );
  logger.info('grade pushed', { messageId, orgUnitId, gradeObjectId, status });
};

const config = new IdempotencyConfig({ eventKeyJmesPath: 'messageId' });
const persistenceStore = new DynamoDBPersistenceLayer({ tableName: process.env.LEDGER_TABLE ?? '' });
const pushOnce = makeIdempotent(pushGrade, { persistenceStore, config });

export const handler = middy<SQSEvent>()
  .use(injectLambdaContext(logger))
  .handler((event: SQSEvent, context: Context) => {
    config.registerLambdaContext(context);
    return processPartialResponse(event, pushOnce, processor, { context });
  });
