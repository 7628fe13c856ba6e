import { GetQueueUrlCommand, SQSClient } from '@aws-sdk/client-sqs';
import { describe, expect, test } from 'vitest';
import { errorSentence } from '../../../../lib/cli/print/error-sentence.ts';

const errorWith = (fields: object, message = 'it failed') => Object.assign(new Error(message), fields);
const noHost = errorWith({ code: 'ENOTFOUND', hostname: 'sqs.eu-wset-1.amazonaws.com' });

describe('an error is told in one sentence, with what to look at', () => {
  test.each<[string, Error, object, string]>([
    [
      'a region that there is not',
      noHost,
      {},
      'There is no host sqs.eu-wset-1.amazonaws.com: is eu-wset-1 an AWS region? Look at --region, and at the network of this machine.',
    ],
    [
      'a host of one’s own that there is not',
      errorWith({ code: 'ENOTFOUND', hostname: 'sqs.example' }),
      {},
      'There is no host sqs.example: Look at --region, and at the network of this machine.',
    ],
    [
      'AWS out of reach',
      errorWith({ code: 'ECONNREFUSED' }),
      {},
      'AWS does not answer (ECONNREFUSED): look at the network of this machine, and at AWS_ENDPOINT_URL where it is set.',
    ],
    [
      'a stack on this machine that is not up',
      errorWith({ code: 'ECONNREFUSED' }),
      { local: true },
      'The stack on this machine does not answer (ECONNREFUSED): is `npm run local` still running?',
    ],
    [
      'a session that has ended',
      errorWith({ name: 'CredentialsProviderError' }, 'Token is expired. To refresh this SSO session run…'),
      { profile: 'ops' },
      'Your credentials of AWS by the profile ops have expired: log in again, as with `aws sso login`.',
    ],
  ])('%s', (_, error, given, sentence) => {
    expect(errorSentence(error, given)).toBe(sentence);
  });

  test('what is no name of a region at all, as the SDK itself says it', async () => {
    const credentials = { accessKeyId: 'x', secretAccessKey: 'y' };
    const client = new SQSClient({ region: 'EU West', credentials });
    const error = await client.send(new GetQueueUrlCommand({ QueueName: 'x' })).catch((each) => each);
    expect(errorSentence(error, {})).toBe(
      'EU West is no AWS region: give --region, or set AWS_REGION, as in eu-west-1.',
    );
  });
});
