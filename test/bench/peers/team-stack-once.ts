import { processPartialResponse } from '@aws-lambda-powertools/batch';
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb';
import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware';
import middy from '@middy/core';
import type { Context, SQSEvent } from 'aws-lambda';
import { logger, processor, pushGrade } from './team-stack.ts';

// The same with what Powertools has in the place of a ledger, as its guide shows it for a batch: a record in DynamoDB for each
// message, written before and after. It knows nothing of older and newer messages about one thing.

const config = new IdempotencyConfig({ eventKeyJmesPath: 'messageId' });
const persistenceStore = new DynamoDBPersistenceLayer({ tableName: process.env.LEDGER_TABLE ?? '' });
const pushOnce = makeIdempotent(pushGrade, { persistenceStore, config });

export const handler = middy<SQSEvent>()
  .use(injectLambdaContext(logger))
  .handler((event: SQSEvent, context: Context) => {
    config.registerLambdaContext(context);
    return processPartialResponse(event, pushOnce, processor, { context });
  });
