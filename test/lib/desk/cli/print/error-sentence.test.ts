import { GetQueueUrlCommand, SQSClient } from '@aws-sdk/client-sqs';
import { describe, expect, test } from 'vitest';
import { errorSentence } from '../../../../../lib/desk/cli/print/error-sentence.ts';

const errorWith = (fields: object, message = 'it failed') => Object.assign(new Error(message), fields);
const noHost = errorWith({ code: 'ENOTFOUND', hostname: 'sqs.eu-wset-1.amazonaws.com' });

describe('an error is told in one sentence, with what to look at', () => {
  test.each<[string, Error, object, string]>([
    [
      'a region that there is not',
      noHost,
      {},
      'There is no host sqs.eu-wset-1.amazonaws.com. Is eu-wset-1 an AWS region? Check the region, and the network of this machine.',
    ],
    [
      'a host of one’s own that there is not',
      errorWith({ code: 'ENOTFOUND', hostname: 'sqs.example' }),
      {},
      'There is no host sqs.example. Check the region, and the network of this machine.',
    ],
    [
      'AWS out of reach',
      errorWith({ code: 'ECONNREFUSED' }),
      {},
      'AWS does not answer (ECONNREFUSED). Check the network of this machine, and AWS_ENDPOINT_URL if it is set.',
    ],
    [
      'a session that has ended',
      errorWith({ name: 'CredentialsProviderError' }, 'Token is expired. To refresh this SSO session run…'),
      { profile: 'ops' },
      'Your AWS credentials of the profile ops have expired. Log in again, for example with `aws sso login`.',
    ],
  ])('%s', (_, error, given, sentence) => {
    expect(errorSentence(error, given)).toBe(sentence);
  });

  test('what is no name of a region at all, as the SDK itself says it', async () => {
    const credentials = { accessKeyId: 'x', secretAccessKey: 'y' };
    const client = new SQSClient({ region: 'EU West', credentials });
    const error = await client.send(new GetQueueUrlCommand({ QueueName: 'x' })).catch((each) => each);
    expect(errorSentence(error, {})).toBe(
      'EU West is not an AWS region. Pass --region, or set AWS_REGION, for example eu-west-1.',
    );
  });
});
