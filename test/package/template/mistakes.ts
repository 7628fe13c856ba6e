import type { Properties, Template } from '../cloudformation.ts';
import type { rules } from './rules.ts';

/** A mistake that somebody could make in the template, and the rule that must notice it. */
type Mistake = {
  title: string;
  rule: keyof typeof rules;
  /** Where it is made; `local` where nothing is said. */
  stage?: 'prod';
  make(template: Template): unknown;
};

const mistake = (
  title: string,
  make: (of: (id: string) => Properties, template: Template) => unknown,
): Omit<Mistake, 'rule'> => ({
  title,
  make: (template) => make((id) => template.Resources[id]!.Properties, template),
});

/** The first of what an alarm watches. */
const watchedBy = (alarm: Properties): Properties =>
  alarm.Metrics.find(({ Id }: Properties) => Id === 'm0').MetricStat;

const mistakeInProd: typeof mistake = (title, make) => ({ ...mistake(title, make), stage: 'prod' });

/** Objects in the stage's bucket. */
const filesUnder = (keys: string) => ({ 'Fn::Join': ['/', [{ 'Fn::GetAtt': ['Files', 'Arn'] }, keys]] });

/** The statement of a role, or of a policy for people, that begins with this action. */
const statement = ({ Policies = [], PolicyDocument }: Properties, action: string): Properties => {
  const documents: Properties[] = PolicyDocument
    ? [PolicyDocument]
    : Policies.map((policy: Properties) => policy.PolicyDocument);
  const statements: Properties[] = documents.flatMap(({ Statement }) => Statement);
  return statements.find(({ Action }) => [Action].flat()[0] === action)!;
};

const perRule: Record<string, Omit<Mistake, 'rule'>[]> = {
  'CloudFormation takes it': [
    mistake('a misspelt property', (of) => (of('Ledger').BilingMode = 'PAY_PER_REQUEST')),
  ],
  'every action of IAM exists': [
    mistake('a misspelt action', (of) => {
      statement(of('gradepushRole'), 'sqs:SendMessage').Action = 'sqs:SentMessage';
    }),
  ],
  'what people are given fits into a policy of IAM, be the names of stage and region as long as they can': [
    mistake('operators with a resource too many', (of) => {
      const { Resource } = statement(of('Operators'), 'lambda:ListDurableExecutionsByFunction');
      Resource.push(...Array.from({ length: 5 }, () => Resource[0]));
    }),
  ],
  'what is allowed is named, and is the stage’s own': [
    mistake('a replay that reaches the queues of other stages', (of) => {
      const move = statement(of('deadletterreplayRole'), 'sqs:GetQueueUrl');
      move.Resource['Fn::Sub'] = move.Resource['Fn::Sub'].replace('sis-relay-local-*', 'sis-relay-*');
    }),
    mistake('operators that pause the functions of other stages', (of) => {
      const pause = statement(of('Leads'), 'lambda:UpdateEventSourceMapping');
      const arn = pause.Condition.ArnLike['lambda:FunctionArn'];
      arn['Fn::Sub'] = arn['Fn::Sub'].replace('sis-relay-local-*', 'sis-relay-*');
    }),
    mistake('a wildcard in an action', (of) => {
      statement(of('gradepushRole'), 'sqs:SendMessage').Action = 'sqs:*';
    }),
  ],
  'a queue hides a message for six times as long as its function may work on it': [
    mistake('a longer timeout', (of) => (of('GradeDashpushLambdaFunction').Timeout = 300)),
  ],
  'a function that a queue triggers has the time for an attempt': [
    mistake('a shorter timeout', (of) => (of('SubmissionDashuploadLambdaFunction').Timeout = 100)),
  ],
  'a container knows how many there are at most, for its even part of PLATFORM_CALLS_PER_MINUTE': [
    mistake('a function with more containers', (of) => {
      of('GradeDashpushEventSourceMappingSQSGradepushQueue').ScalingConfig.MaximumConcurrency = 3;
    }),
  ],
  'every queue moves what kills its function to DeadLetters, and not what only waits for a day': [
    mistake('a queue without redrive', (of) => delete of('enrollmentcreateQueue').RedrivePolicy),
  ],
  'what can be neither handled nor parked is moved to DeadLetters before its queue forgets it': [
    mistake('more receipts than there is time for', (of) => {
      of('gradepushQueue').RedrivePolicy.maxReceiveCount = 1000;
    }),
  ],
  'a message fits into DeadLetters together with its failure': [
    mistake('a queue that takes what no letter can hold', (of) => {
      of('gradepushQueue').MaximumMessageSize = 1_048_576;
    }),
  ],
  'every mapping reports single failures, batches, and bounds its concurrency': [
    mistake('a mapping that fails whole batches', (of) => {
      delete of('GradeDashpushEventSourceMappingSQSGradepushQueue').FunctionResponseTypes;
    }),
  ],
  'queues, files and alarms are reached over TLS alone': [
    mistake('a queue without its policy', (_, { Resources }) => delete Resources.gradepushQueuePolicy),
    mistake('a policy about the bucket, but not its objects', (of) => {
      of('FilesPolicy').PolicyDocument.Statement[0].Resource = [{ 'Fn::GetAtt': ['Files', 'Arn'] }];
    }),
  ],
  'queues and buckets are encrypted, and buckets are private': [
    mistake('a queue that is not encrypted', (of) => (of('DeadLetters').SqsManagedSseEnabled = false)),
  ],
  'files outlive the messages and letters that name them, and nothing that was begun lies about': [
    mistake('files that go before their letters', (of) => {
      of('Files').LifecycleConfiguration.Rules[0].ExpirationInDays = 14;
    }),
    mistake('replaced exports that go before their imports', (of) => {
      const rules: Properties[] = of('Files').LifecycleConfiguration.Rules;
      for (const each of rules)
        if (each.Prefix === 'snapshots/') each.NoncurrentVersionExpiration = { NoncurrentDays: 14 };
    }),
  ],
  'what is overwritten stays in the audit log, and nobody takes it out; elsewhere it is gone': [
    mistake('an audit log that can be rewritten', (of) => delete of('Files').VersioningConfiguration),
    mistake('originals that operators can write over', (of) => {
      of('FilesPolicy').PolicyDocument.Statement[1].Resource.pop();
    }),
    mistake('an import that deletes from the audit log', (of) => {
      statement(of('snapshotimportRole'), 's3:DeleteObject').Resource = filesUnder('audit/*');
    }),
  ],
  'traces, a key, a VPC, a boundary and protection are there for prod, which asks for them, and cost others nothing':
    [
      mistake('traces that nobody asked for', (of) => {
        of('GradeDashpushLambdaFunction').TracingConfig = { Mode: 'Active' };
      }),
      mistakeInProd('a role without its boundary', (of) => delete of('SchedulerRole').PermissionsBoundary),
      mistakeInProd('a function beside the VPC', (of) => delete of('GradeDashpushLambdaFunction').VpcConfig),
    ],
  'every function runs on Node 24 for arm64, with settings that it understands, and a log that has an end': [
    mistake('a setting that nobody reads', (of) => {
      of('GradeDashpushLambdaFunction').Environment.Variables.PLATFORM_ADDRESS = 'https://example.edu';
    }),
  ],
  'the engine carries on what is made for it and nothing else, by the version that began it': [
    mistake('an export that the engine does not carry on', (of) => {
      delete of('CourseDashexportLambdaFunction').DurableConfig;
    }),
  ],
  'functions reserve together what an account is asked for': [
    mistake('one that reserves more', (of) => {
      of('GradeDashpushLambdaFunction').ReservedConcurrentExecutions = 5;
    }),
  ],
  'what a schedule starts is not tried again by Lambda, and refreshes and replays run one at a time': [
    mistake('two replays at once', (of) => {
      delete of('DeadDashletterDashreplayLambdaFunction').ReservedConcurrentExecutions;
    }),
  ],
  'each queue, function, job and schedule is watched, by an alarm that tells somebody when it begins and ends':
    [
      mistake('letters that lie there unheard', (_, { Resources }) => delete Resources.LettersAny),
      mistake('a queue that nobody watches', (of) => of('QueueOldest1').Metrics.pop()),
      mistake('a queue that hands out nothing, unheard', (of) => of('InFlight1').Metrics.pop()),
      mistake('an alarm that tells nobody', (of) => (of('LettersAny').AlarmActions = [])),
      mistake('an outage of the platform that nobody is told of', (of) => {
        delete of('ConnectionFails').AlarmActions;
      }),
      mistake('a check that no longer runs, unheard', (of) => {
        delete of('ConnectionFails').InsufficientDataActions;
      }),
      mistake('a part of an alarm that belongs to none', (of) => {
        of('Waiting').AlarmRule = { 'Fn::Sub': `ALARM("\${WaitingTooLong}")` };
      }),
    ],
  'an alarm is suppressed by what holds up all messages, and is told, and by nothing else': [
    mistake('a learner’s credential that hides the messages of all', (of) => {
      of('Outage').AlarmRule = {
        'Fn::Sub': `ALARM("\${ConnectionFails}") OR ALARM("\${CredentialRefused}")`,
      };
    }),
    mistake('an outage that is not told, and hides what waits for it', (of) => {
      delete of('ServiceRefused').AlarmActions;
    }),
  ],
  'alarms and graphs are about metrics that there are, of this stage and no other': [
    mistake('an alarm about the letters of all stages', (of) => {
      watchedBy(of('LettersProducer')).Metric.Namespace = 'sis-relay';
    }),
    mistake('an alarm about a metric that nobody writes', (of) => {
      watchedBy(of('LettersProducer')).Metric.MetricName = 'DeadLetters';
    }),
    mistake('a graph of dimensions that nobody writes', (of) => {
      const { DashboardBody } = of('Dashboard');
      DashboardBody['Fn::Sub'] = DashboardBody['Fn::Sub'].replaceAll(
        ',kind} MetricName',
        ',reason} MetricName',
      );
    }),
  ],
  'somebody is subscribed to the alarms, and CloudWatch may publish them': [
    mistake('alarms without a reader', (of) => delete of('Alarms').Subscription),
  ],
  'every function is given its own queue, DeadLetters, the ledger, the bucket and its stage’s secrets': [
    mistake('a function without the ledger', (of) => {
      delete of('GradeDashpushLambdaFunction').Environment.Variables.LEDGER_TABLE;
    }),
  ],
  'a mapping takes all that a queue holds to the function of its name, no faster than the platform allows': [
    mistake('a mapping that drops what it does not know', (of) => {
      of('GradeDashpushEventSourceMappingSQSGradepushQueue').FilterCriteria = { Filters: [] };
    }),
    mistake('a mapping that each update resumes', (of) => {
      of('GradeDashpushEventSourceMappingSQSGradepushQueue').Enabled = true;
    }),
  ],
  'of what all share, a function reaches its own part alone': [
    mistake('the names of all files', (of) => {
      delete statement(of('reconcileRole'), 's3:ListBucket').Condition;
    }),
    mistake('changes that are sent as letters', (of) => {
      statement(of('changepollRole'), 'sqs:SendMessage').Resource.push({
        'Fn::GetAtt': ['DeadLetters', 'Arn'],
      });
    }),
    mistake('messages of all functions', (of) => {
      const [letters] = statement(of('gradepushRole'), 's3:PutObject').Resource;
      letters['Fn::Sub'] = letters['Fn::Sub'].replace('grade-push/*', '*');
    }),
    mistake('all secrets of the stage', (of) => {
      const read = statement(of('gradepushRole'), 'secretsmanager:GetSecretValue');
      read.Resource['Fn::Sub'] = read.Resource['Fn::Sub'].replace('service-??????', '*');
    }),
  ],
  'nobody else is let in: no managed policy, no address, no permission by a resource': [
    mistake('a role with a policy of AWS', (of) => {
      of('gradepushRole').ManagedPolicyArns = ['arn:aws:iam::aws:policy/AmazonSQSFullAccess'];
    }),
    mistake('a role of schedules that anybody may assume', (of) => {
      of('SchedulerRole').AssumeRolePolicyDocument.Statement[0].Principal = { AWS: '*' };
    }),
    mistake('a queue to which anybody may send', (of) => {
      of('gradepushQueuePolicy').PolicyDocument.Statement.push({
        ...{ Effect: 'Allow', Principal: '*', Action: 'sqs:SendMessage' },
        Resource: { 'Fn::GetAtt': ['gradepushQueue', 'Arn'] },
      });
    }),
  ],
  'producers send messages and files and no letters, and a role of people may not do what a higher one may': [
    mistake('producers that write letters', (of) => of('Producers').PolicyDocument.Statement.splice(1, 1)),
    mistake('readers that read messages', (of) => {
      statement(of('Readers'), 'sqs:GetQueueUrl').Action.push('sqs:ReceiveMessage');
    }),
    mistake('readers that read what snapshots change', (of) => {
      statement(of('Readers'), 's3:GetObject').Resource.push(filesUnder('snapshot-records/*'));
    }),
    mistake('operators that take messages out of their queues', (of) => {
      const receiving = statement(of('Operators'), 'sqs:ReceiveMessage');
      statement(of('Operators'), 'sqs:DeleteMessage').Resource = receiving.Resource;
    }),
    mistake('operators that bring letters back', (of) => {
      statement(of('Operators'), 'sqs:SendMessage').Resource.push({ 'Fn::GetAtt': ['DeadLetters', 'Arn'] });
    }),
    mistake('operators that write the entries of leads', (of) => {
      statement(of('Operators'), 's3:PutObject').Resource.push(filesUnder('audit/*'));
    }),
    mistake('operators that change what users sign with', (of) => {
      statement(of('Operators'), 'secretsmanager:GetSecretValue').Action = ['secretsmanager:PutSecretValue'];
    }),
    mistake('leads that read what users sign with', (of) => {
      statement(of('Leads'), 'secretsmanager:CreateSecret').Action.push('secretsmanager:GetSecretValue');
    }),
  ],
  'every schedule is in force, at a time that there is, and often enough': [
    mistake('tokens every five hours', (of) => {
      of('TokenDashrefreshSchedulerSchedule1').ScheduleExpression = 'rate(5 hours)';
    }),
  ],
};

export const mistakes: Mistake[] = Object.entries(perRule).flatMap(([rule, all]) =>
  all.map((each) => ({ ...each, rule })),
);
