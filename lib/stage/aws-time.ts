import type { Target } from './target.ts';

/**
 * The present time by AWS' clock, from the head of an answer. The time of a message decides which of two is newer, and the clock of an
 * operator's machine may be wrong.
 */
export const awsTimeMs = async ({ sqs, deadLetterQueueUrl }: Target): Promise<number> => {
  const { GetQueueAttributesCommand } = await import('@aws-sdk/client-sqs');
  const QueueUrl = await deadLetterQueueUrl();
  const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] });
  let dateMs = Number.NaN;
  command.middlewareStack.add(
    (next) => async (given) => {
      const answer = await next(given);
      const { headers } = answer.response as { headers?: Record<string, string> };
      dateMs = Date.parse(headers?.date ?? '');
      return answer;
    },
    { step: 'deserialize', name: 'readDate' },
  );
  const client = await sqs();
  await client.send(command);
  return withinSecond(Date.now(), dateMs);
};

/** The head gives whole seconds: a clock that agrees with it gives the milliseconds. An address that gives no time is not AWS. */
const withinSecond = (hereMs: number, dateMs: number): number =>
  Number.isNaN(dateMs) ? hereMs : Math.min(Math.max(hereMs, dateMs), dateMs + 999);
