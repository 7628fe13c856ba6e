import { RefusedError, UsageError } from '../deployment/command-errors.ts';
import { safeText } from '../redaction/log-text.ts';

/** What went wrong, as a sentence for whoever typed the command. */
export const errorSentence = (error: unknown, { profile }: { profile?: string } = {}): string => {
  if (!(error instanceof Error)) return `It failed: ${typeof error}`;
  if (error instanceof UsageError || error instanceof RefusedError) return error.message;
  const { name } = error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (
    /^CredentialsProviderError$|^(ExpiredToken|UnrecognizedClient|InvalidClientTokenId|InvalidAccessKeyId)/.test(
      name,
    )
  )
    return `AWS does not know who you are${profile === undefined ? '' : ` by the profile ${profile}`}: ${safeText(error.message)}\nLog in, as with \`aws sso login\`, or name another --profile.`;
  if (/region is missing/i.test(error.message)) return 'Which AWS region? Give --region, or set AWS_REGION.';
  if (/AccessDenied|NotAuthorized|AuthorizationError|Forbidden/i.test(name))
    return `AWS does not let you do that: ${safeText(error.message)}`;
  if (/NonExistentQueue|QueueDoesNotExist/.test(name))
    return 'There is no such queue in this account and region: look at --stage, --region and --profile.';
  if (name === 'NoSuchBucket') return 'There is no such bucket: look at --bucket.';
  if (/^(ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT|EAI_AGAIN)$/.test(code) || name === 'TimeoutError')
    return `AWS does not answer (${code || name}). With --local: is \`npm run local\` still running?`;
  if ('$metadata' in error) return `AWS refused: ${name}: ${safeText(error.message)}`;
  if (code !== '') return safeText(`${code}: ${error.message}`);
  return `A defect of sis-relay, please report it: ${safeText(error.stack ?? error.message, 2_000)}`;
};
