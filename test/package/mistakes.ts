import type { Properties, Template } from './cloudformation.ts';
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
    mistake('a reference to what is not there', (of) => (of('LettersAny').AlarmActions = [{ Ref: 'Alarm' }])),
  ],
  'every action of IAM exists': [
    mistake('a misspelt action', (of) => {
      statement(of('gradepushRole'), 'sqs:SendMessage').Action = 'sqs:SentMessage';
    }),
  ],
  'what people are given fits into a policy of IAM, be the names of stage and region as long as they can': [
    mistake('operators with a resource too many', (of) => {
      const { Resource } = statement(of('Operators'), 'lambda:ListDurableExecutionsByFunction');
      Resource.push(...Array.from({ length: 12 }, () => Resource[0]));
    }),
  ],
  'what is allowed is named, and is the stage’s own': [
    mistake('a replay that reaches the queues of other stages', (of) => {
      const move = statement(of('deadletterreplayRole'), 'sqs:GetQueueUrl');
      move.Resource['Fn::Sub'] = move.Resource['Fn::Sub'].replace('sis-relay-local-*', 'sis-relay-*');
    }),
    mistake('operators that pause the functions of other stages', (of) => {
      const pause = statement(of('Pausers'), 'lambda:UpdateEventSourceMapping');
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
    mistake('a redrive after ten receipts', (of) => {
      of('gradepushQueue').RedrivePolicy.maxReceiveCount = 10;
    }),
    mistake('letters that are forgotten after four days', (of) => {
      delete of('DeadLetters').MessageRetentionPeriod;
    }),
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
    mistake('a queue without a function', (_, { Resources }) => {
      delete Resources.GradeDashpushEventSourceMappingSQSGradepushQueue;
    }),
  ],
  'queues, files and alarms are reached over TLS alone': [
    mistake('a queue without its policy', (_, { Resources }) => delete Resources.gradepushQueuePolicy),
    mistake('a policy about the bucket, but not its objects', (of) => {
      of('FilesPolicy').PolicyDocument.Statement[0].Resource = [{ 'Fn::GetAtt': ['Files', 'Arn'] }];
    }),
    mistake('a policy that denies nothing', (of) => {
      of('FilesPolicy').PolicyDocument.Statement[0].Condition.Bool['aws:SecureTransport'] = 'true';
    }),
  ],
  'queues and buckets are encrypted, and buckets are private': [
    mistake('a queue that is not encrypted', (of) => (of('DeadLetters').SqsManagedSseEnabled = false)),
    mistake('a public bucket', (of) => {
      of('Files').PublicAccessBlockConfiguration.BlockPublicPolicy = false;
    }),
  ],
  'files outlive the messages and letters that name them, and nothing that was begun lies about': [
    mistake('files that go before their letters', (of) => {
      of('Files').LifecycleConfiguration.Rules[0].ExpirationInDays = 14;
    }),
    mistake('a rule for the whole bucket', (of) =>
      of('Files').LifecycleConfiguration.Rules.push({ Id: 'all', Status: 'Enabled', ExpirationInDays: 7 }),
    ),
  ],
  'what is overwritten stays in the audit log, and nobody takes it out; elsewhere it is gone': [
    mistake('an audit log that can be rewritten', (of) => delete of('Files').VersioningConfiguration),
    mistake('an audit log whose entries are written over', (of) =>
      of('FilesPolicy').PolicyDocument.Statement.pop(),
    ),
    mistake('operators that delete versions', (of) => {
      statement(of('Operators'), 's3:PutObject').Action = ['s3:PutObject', 's3:DeleteObjectVersion'];
    }),
  ],
  'traces, a key and a VPC of one’s own are there for prod, which asks for them, and cost others nothing': [
    mistake('traces that nobody asked for', (of) => {
      of('GradeDashpushLambdaFunction').TracingConfig = { Mode: 'Active' };
    }),
    mistakeInProd('a function beside the VPC', (of) => delete of('GradeDashpushLambdaFunction').VpcConfig),
    mistakeInProd('a table under another key', (of) => delete of('Ledger').SSESpecification),
  ],
  'the ledger and the desk forget what has expired': [
    mistake('a ledger that forgets nothing', (of) => delete of('Ledger').TimeToLiveSpecification),
  ],
  'every function writes to a log that is not kept for ever': [
    mistake('a log without an end', (of) => delete of('GradeDashpushLogGroup').RetentionInDays),
  ],
  'every function runs on Node 24 for arm64, with settings that it understands': [
    mistake('a setting that nobody reads', (of) => {
      of('GradeDashpushLambdaFunction').Environment.Variables.PLATFORM_ADDRESS = 'https://example.edu';
    }),
    mistake('another runtime', (of) => (of('GradeDashpushLambdaFunction').Runtime = 'nodejs22.x')),
  ],
  'the engine carries on what is made for it and nothing else, by the version that began it': [
    mistake('an export that the engine does not carry on', (of) => {
      delete of('CourseDashexportLambdaFunction').DurableConfig;
    }),
    mistake('a schedule that names no version', (of) => {
      const arn = { 'Fn::GetAtt': ['CourseDashexportLambdaFunction', 'Arn'] };
      of('CourseDashexportSchedulerSchedule1').Target.Arn = arn;
    }),
  ],
  'what a schedule starts is not tried again by Lambda, and refreshes and replays run one at a time': [
    mistake('two replays at once', (of) => {
      delete of('DeadDashletterDashreplayLambdaFunction').ReservedConcurrentExecutions;
    }),
    mistake('a retry of a schedule', (of) => {
      of('DeadDashletterDashreplayLambdaEvConf').MaximumRetryAttempts = 2;
    }),
  ],
  'each queue, function, job and schedule is watched, by an alarm that tells somebody when it begins and ends':
    [
      mistake('letters that lie there unheard', (_, { Resources }) => delete Resources.LettersAny),
      mistake('a queue that nobody watches', (of) => of('QueueOldest1').Metrics.pop()),
      mistake('more metrics than an alarm may have', (of) => {
        const { Metrics } = of('FunctionErrors1');
        Metrics.push({ ...Metrics[1], Id: 'm10' });
      }),
      mistake('a function that fails unheard', (of) => of('FunctionErrors2').Metrics.pop()),
      mistake('an alarm that tells nobody', (of) => (of('LettersAny').AlarmActions = [])),
      mistake('an alarm that is switched off', (of) => (of('LettersNearTheirEnd').ActionsEnabled = false)),
      mistake('an alarm that does not tell its end', (of) => delete of('LettersAny').OKActions),
      mistake('a part of an alarm that belongs to none', (of) => {
        of('Waiting').AlarmRule = { 'Fn::Sub': `ALARM("\${WaitingTooLong}")` };
      }),
    ],
  'that messages wait is told where no other alarm says why, and two hours after': [
    mistake(
      'messages that ring because the platform does not answer',
      (of) => delete of('Waiting').ActionsSuppressor,
    ),
    mistake(
      'messages that ring when it answers again',
      (of) => (of('Waiting').ActionsSuppressorExtensionPeriod = 1),
    ),
  ],
  'alarms and graphs are about metrics that there are, of this stage and no other': [
    mistake('an alarm about the letters of all stages', (of) => {
      watchedBy(of('LettersProducer')).Metric.Namespace = 'sis-relay';
    }),
    mistake(
      'a function that writes elsewhere',
      (of) => delete of('GradeDashpushLambdaFunction').Environment.Variables.METRIC_NAMESPACE,
    ),
    mistake('an alarm about a metric that nobody writes', (of) => {
      watchedBy(of('LettersProducer')).Metric.MetricName = 'DeadLetters';
    }),
    mistake('an alarm about a queue that is not there', (of) => {
      watchedBy(of('QueueOldest1')).Metric.Dimensions[0].Value = 'sis-relay-local-grades';
    }),
    mistake('a graph of dimensions that nobody writes', (of) => {
      const { DashboardBody } = of('Dashboard');
      DashboardBody['Fn::Sub'] = DashboardBody['Fn::Sub'].replaceAll(
        ',kind} MetricName',
        ',reason} MetricName',
      );
    }),
  ],
  'an alarm goes off in time, fills in what is missing, and is not ended by data that come late': [
    mistake('an alarm that looks back for as long as nothing comes', (of) => {
      of('FunctionErrors1').Metrics[0].Expression = 'SUM(METRICS("m"))';
    }),
    mistake('an alarm that judges before the data come', (of) => (of('JobsFailed').EvaluationPeriods = 1)),
    mistake('an alarm about letters that are deleted', (of) => {
      of('LettersNearTheirEnd').Threshold = 15 * 24 * 3600;
    }),
    mistake('refusals that are over between two attempts', (of) => (of('AwsRefused').EvaluationPeriods = 3)),
    mistake('a night that is judged before its export', (of) => (of('ExportSilent').EvaluationPeriods = 12)),
    mistake('a week without a comparison', (of) => (of('ReconcileSilent').EvaluationPeriods = 168)),
    mistake('a connection that is judged between two checks', (of) => (of('ConnectionFails').Period = 60)),
  ],
  'somebody is subscribed to the alarms, and CloudWatch may publish them': [
    mistake('alarms without a reader', (of) => delete of('Alarms').Subscription),
    mistake('alarms that nobody may publish', (of) => of('AlarmsPolicy').PolicyDocument.Statement.shift()),
  ],
  'every function is given its own queue, DeadLetters, the ledger, the bucket and its stage’s secrets': [
    mistake('a function without the ledger', (of) => {
      delete of('GradeDashpushLambdaFunction').Environment.Variables.LEDGER_TABLE;
    }),
    mistake('a function with another’s queue', (of) => {
      of('GradeDashpushLambdaFunction').Environment.Variables.QUEUE_URL = { Ref: 'enrollmentcreateQueue' };
    }),
  ],
  'a mapping takes all that a queue holds to the function of its name, no faster than the platform allows': [
    mistake('a mapping that drops what it does not know', (of) => {
      of('GradeDashpushEventSourceMappingSQSGradepushQueue').FilterCriteria = { Filters: [] };
    }),
    mistake('a large batch of files', (of) => {
      of('SubmissionDashuploadEventSourceMappingSQSSubmissionuploadQueue').BatchSize = 50;
    }),
  ],
  'what cannot be had again outlives the stack, and the ledger can be restored': [
    mistake('letters that go with the stack', (_, { Resources }) => {
      delete Resources.DeadLetters!.DeletionPolicy;
    }),
    mistake('a bucket that goes when it is replaced', (_, { Resources }) => {
      delete Resources.Files!.UpdateReplacePolicy;
    }),
    mistakeInProd('a ledger that a slip of the hand deletes', (of) => {
      of('Ledger').DeletionProtectionEnabled = false;
    }),
    mistake('a ledger without backup', (of) => delete of('Ledger').PointInTimeRecoverySpecification),
  ],
  'of what all share, a function reaches its own part alone': [
    mistake('the names of all files', (of) => {
      delete statement(of('reconcileRole'), 's3:ListBucket').Condition;
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
  'producers send messages and files and no letters, and operators read no user’s secret': [
    mistake('producers that write letters', (of) => of('Producers').PolicyDocument.Statement.splice(1, 1)),
    mistake('operators that take messages out of their queues', (of) => {
      const sending = statement(of('Operators'), 'sqs:GetQueueUrl');
      statement(of('Operators'), 'sqs:DeleteMessage').Resource = sending.Resource;
    }),
    mistake('operators that read what users sign with', (of) => {
      statement(of('Operators'), 'secretsmanager:DescribeSecret').Action = 'secretsmanager:GetSecretValue';
    }),
  ],
  'every schedule is in force, at a time that there is, and often enough': [
    mistake('tokens every five hours', (of) => {
      of('TokenDashrefreshSchedulerSchedule1').ScheduleExpression = 'rate(5 hours)';
    }),
    mistake('a time as in Unix', (of) => {
      of('CourseDashexportSchedulerSchedule1').ScheduleExpression = 'cron(0 2 * * *)';
    }),
  ],
};

export const mistakes: Mistake[] = Object.entries(perRule).flatMap(([rule, all]) =>
  all.map((each) => ({ ...each, rule })),
);
