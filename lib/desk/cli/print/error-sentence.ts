import { logText } from '../../../runtime/privacy/log-text.ts';
import { RefusedError, UsageError } from '../../../stage/command-errors.ts';
import { howToGetRole, needsRole, type Role } from '../../../stage/roles.ts';

/** The command's options that may be the cause. */
type CommandOptions = { profile?: string; region?: string; local?: boolean; stack?: string };

/** Describes an error in a sentence for the user of the command. */
export const errorSentence = (error: unknown, options: CommandOptions, role?: Role): string => {
  if (!(error instanceof Error)) return `It failed: ${typeof error}`;
  if (error instanceof UsageError || error instanceof RefusedError) return error.message;
  const { name } = error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const profile = options.profile === undefined ? '' : ` of the profile ${options.profile}`;
  if (
    /^(ExpiredToken|RequestExpired)/.test(name) ||
    /token is expired|token has expired/i.test(error.message)
  )
    return `Your AWS credentials${profile} have expired. Log in again, for example with \`aws sso login\`.`;
  if (name === 'CredentialsProviderError')
    return `There are no AWS credentials${profile} here: ${logText(error.message)}\nLog in, for example with \`aws sso login\`, use another profile, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.`;
  if (/^(UnrecognizedClient|InvalidClientTokenId|InvalidAccessKeyId)/.test(name))
    return `AWS does not accept your credentials${profile}: ${logText(error.message)}\nLog in, for example with \`aws sso login\`, or use another profile.`;
  if (/region is missing/i.test(error.message))
    return 'Which AWS region? Pass --region, or set AWS_REGION. If the stage’s file is in another folder, set SIS_RELAY_STAGES.';
  const [, region] = /^Region not accepted: region="([^"]*)"/.exec(error.message) ?? [];
  if (region !== undefined)
    return `${logText(region)} is not an AWS region. Pass --region, or set AWS_REGION, for example eu-west-1.`;
  if (/AccessDenied|NotAuthorized|AuthorizationError|Forbidden/i.test(name))
    return `AWS does not allow you to do this: ${logText(error.message)}\n${role === undefined ? roleTable : `${needsRole(role)} ${howToGetRole}`}`;
  if (/NonExistentQueue|QueueDoesNotExist/.test(name))
    return 'There is no such queue in this account and region. Check the stage, the region and the profile.';
  if (name === 'NoSuchBucket') return 'There is no such bucket. Check its name.';
  if (/^(ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT|EAI_AGAIN)$/.test(code) || name === 'TimeoutError')
    return unreachable(error, code || name, options);
  if ('$metadata' in error) return `AWS refused: ${name}: ${logText(error.message)}`;
  return ofThisMachine(error, code);
};

/** Where it is written which role may do what. */
const roleTable = 'Which role may do what is in lib/desk/cli/README.md, under Roles.';

/** Errors that this machine causes; all others are defects. */
const ofThisMachine = (error: Error, code: string): string => {
  const [, missing] = /^Cannot find package '([^']+)'/.exec(error.message) ?? [];
  if (missing !== undefined)
    return `The package ${logText(missing)} is not installed. Run \`npm ci\` in the project’s folder.`;
  const { stack = error.message } = error;
  // Its message does not name the file; the head of its stack does.
  if (code === 'ERR_INVALID_TYPESCRIPT_SYNTAX')
    return `A source of sis-relay cannot be read: ${logText(stack.split('\n    at ')[0] ?? '', 1_000)}`;
  if (code === 'ENOSPC') return 'A disk is full (ENOSPC). Make room, and run the command again.';
  if (code !== '')
    return logText(error.message.startsWith(code) ? error.message : `${code}: ${error.message}`);
  return `This is a defect of sis-relay. Please report it: ${logText(stack, 2_000)}`;
};

const unreachable = (error: Error, code: string, { local, stack, region }: CommandOptions): string => {
  if (local || stack !== undefined)
    return `The stack on this machine does not answer (${code}). Is \`npm run local\` still running?`;
  const host = 'hostname' in error && typeof error.hostname === 'string' ? error.hostname : '';
  const [, named = region] = /^[\w-]+\.([a-z0-9-]+)\.(?:amazonaws\.|api\.aws)/.exec(host) ?? [];
  if (code === 'ENOTFOUND' && host !== '')
    return `There is no host ${logText(host)}.${named === undefined ? '' : ` Is ${logText(named)} an AWS region?`} Check the region, and the network of this machine.`;
  return `AWS does not answer (${code}${host === '' ? '' : `, ${logText(host)}`}). Check the network of this machine, and AWS_ENDPOINT_URL if it is set.`;
};
