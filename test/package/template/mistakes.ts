import type { Properties, Template } from '../cloudformation.ts';
import type { RuleTitle } from './rules.ts';

type Of = (id: string) => Properties;
type Mistake = [title: string, make: (of: Of, resources: Template['Resources']) => unknown];

/** The statement of a role, or of a policy for people, that begins with this action. */
const statement = ({ Policies, PolicyDocument }: Properties, action: string): Properties => {
  const { Statement } = PolicyDocument ?? Policies[0].PolicyDocument;
  return Statement.find(({ Action }: Properties) => [Action].flat()[0] === action);
};

/** For each rule, a mistake that somebody could make in the template of the stage `local`, and that the rule must notice. */
export const mistakes: Record<RuleTitle, Mistake> = {
  'CloudFormation takes it': ['a misspelt property', (of) => (of('Ledger').BilingMode = 'PAY_PER_REQUEST')],
  'every action of IAM exists': [
    'a misspelt action',
    (of) => (statement(of('gradepushRole'), 'sqs:SendMessage').Action = 'sqs:SentMessage'),
  ],
  'what people are given fits into a policy of IAM, be the names of stage and region as long as they can': [
    'operators with resources too many',
    (of) => {
      const { Resource } = statement(of('Operators'), 'lambda:ListDurableExecutionsByFunction');
      Resource.push(...Array.from({ length: 5 }, () => Resource[0]));
    },
  ],
  'what is allowed is named, and is the stage’s own': [
    'a replay that reaches the queues of other stages',
    (of) => {
      const { Resource } = statement(of('deadletterreplayRole'), 'sqs:GetQueueUrl');
      Resource['Fn::Sub'] = Resource['Fn::Sub'].replace('sis-relay-local-*', 'sis-relay-*');
    },
  ],
  'a queue hides a message for six times its function’s timeout, which is enough for an attempt': [
    'a longer timeout',
    (of) => (of('GradeDashpushLambdaFunction').Timeout = 300),
  ],
  'a message that kills its function is moved to DeadLetters, after more receipts than a day of waiting takes, before its queue deletes it':
    [
      'more receipts than there is time for',
      (of) => (of('gradepushQueue').RedrivePolicy.maxReceiveCount = 1000),
    ],
  'a message fits into DeadLetters together with its failure': [
    'a queue that takes what no letter can hold',
    (of) => (of('gradepushQueue').MaximumMessageSize = 1_048_576),
  ],
  'a mapping takes all of its queue to the function of its name, in batches whose messages fail alone, no faster than the platform allows':
    [
      'a mapping that fails whole batches',
      (of) => delete of('GradeDashpushEventSourceMappingSQSGradepushQueue').FunctionResponseTypes,
    ],
  'functions are given the number of all containers, and reserve no more than an account is asked for': [
    'a function with more containers',
    (of) => {
      of('GradeDashpushEventSourceMappingSQSGradepushQueue').ScalingConfig.MaximumConcurrency = 3;
    },
  ],
  'queues, files and alarms are reached over TLS alone': [
    'a queue without its policy',
    (_, resources) => delete resources.gradepushQueuePolicy,
  ],
  'queues and buckets are encrypted, and buckets are private': [
    'a queue that is not encrypted',
    (of) => (of('DeadLetters').SqsManagedSseEnabled = false),
  ],
  'files outlive the messages and letters that name them, and nothing that was begun lies about': [
    'files that go before their letters',
    (of) => (of('Files').LifecycleConfiguration.Rules[0].ExpirationInDays = 14),
  ],
  'what is overwritten stays in the audit log, and nobody takes it out; elsewhere it is gone': [
    'originals that operators can write over',
    (of) => of('FilesPolicy').PolicyDocument.Statement[1].Resource.pop(),
  ],
  'traces, a key, a VPC, a boundary and protection are there for prod, which asks for them, and cost others nothing':
    [
      'traces that nobody asked for',
      (of) => (of('GradeDashpushLambdaFunction').TracingConfig = { Mode: 'Active' }),
    ],
  'every function has settings that it reads, and a log that has an end': [
    'a setting that nobody reads',
    (of) => (of('GradeDashpushLambdaFunction').Environment.Variables.PLATFORM_ADDRESS = 'https://a.example'),
  ],
  'a function with a schedule is not retried by Lambda, runs alone if it must, and starts every 15 minutes': [
    'tokens every five hours',
    (of) => (of('TokenDashrefreshSchedulerSchedule1').ScheduleExpression = 'rate(5 hours)'),
  ],
  'an execution ends before the next one begins, is found while it runs, and is started by an alias': [
    'an export that meets the next one',
    (of) => (of('CourseDashexportLambdaFunction').DurableConfig.ExecutionTimeout = 90_000),
  ],
  'each alarm sends its begin and, unless it tells an event, its end; letters and each kind of failure that needs a person have one':
    ['letters that lie there unheard', (_, resources) => delete resources.LettersAny],
  'alarms watch what exists in this stage, and name a section of the runbook': [
    'an alarm without a remedy',
    (of) => (of('LettersAny').AlarmDescription = 'Runbook: lib/desk/cli/README.md#none'),
  ],
  'somebody is subscribed to the alarms, and CloudWatch may publish them': [
    'alarms without a reader',
    (of) => delete of('Alarms').Subscription,
  ],
  'of what all share, a function reaches its own part alone': [
    'messages of all functions',
    (of) => {
      const [letters] = statement(of('gradepushRole'), 's3:PutObject').Resource;
      letters['Fn::Sub'] = letters['Fn::Sub'].replace('grade-push/*', '*');
    },
  ],
  'nobody else is let in: no managed policy, no address, no permission by a resource': [
    'a queue to which anybody may send',
    (of) => {
      of('gradepushQueuePolicy').PolicyDocument.Statement.push({
        Effect: 'Allow',
        Principal: '*',
        Action: 'sqs:SendMessage',
        Resource: { 'Fn::GetAtt': ['gradepushQueue', 'Arn'] },
      });
    },
  ],
  'producers send messages and files and no letters, and a role of people may not do what a higher one may': [
    'operators that take messages out of their queues',
    (of) => {
      const receiving = statement(of('Operators'), 'sqs:ReceiveMessage');
      statement(of('Operators'), 'sqs:DeleteMessage').Resource = receiving.Resource;
    },
  ],
};
