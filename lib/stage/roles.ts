import { type OptionCommand, options } from '../options.ts';

/**
 * The roles of the people who operate a stage, the one that may least first. Each is a policy in template/people.ts; who has a role is
 * given the policies before it, too. IAM alone decides: this table only shows in advance what IAM will answer.
 */
export const roles = ['reader', 'operator', 'lead'] as const;
export type Role = (typeof roles)[number];

/** The logical ids of their policies. */
export const policyIds: Record<Role, string> = { reader: 'Readers', operator: 'Operators', lead: 'Leads' };

/** What people do to a stage, as typed, and the role that it needs. */
const roleOfCore = {
  status: 'reader',
  'letters groups': 'reader',
  'letters list': 'reader',
  'waiting list': 'reader',
  trace: 'reader',
  log: 'reader',
  'letters show': 'operator',
  'letters show --reveal': 'operator',
  'letters export': 'operator',
  'letters edit': 'operator',
  'letters replay': 'operator',
  'letters discard': 'operator',
  'letters verify': 'operator',
  'letters reindex': 'operator',
  'waiting wake': 'operator',
  publish: 'lead',
  'letters import': 'lead',
  pause: 'lead',
  resume: 'lead',
  'auth-url': 'lead',
} as const satisfies Record<string, Role>;

export type CommandName = keyof typeof roleOfCore | OptionCommand;

export const roleOf: Readonly<Record<CommandName, Role>> = Object.assign(
  { ...roleOfCore },
  ...options.map((option) => option.roles),
);

export const isCommandName = (words: string): words is CommandName => Object.hasOwn(roleOf, words);

/** Whether a role suffices. A command that is not known here, as of a later version, needs the highest. */
export const mayRole = (role: Role, command: string): boolean =>
  roles.indexOf(role) >= roles.indexOf(isCommandName(command) ? roleOf[command] : 'lead');

/** Says what a person lacks. CloudFormation adds an ending to the policy's name. */
export const needsRole = (role: Role, prefix = 'sis-relay-<stage>-'): string =>
  `This needs the role ${role} (policy ${prefix}${policyIds[role]}-…).`;

/** Who can help. */
export const howToGetRole =
  'Ask a person with that role, or have an administrator of the AWS account attach the policy to you.';
