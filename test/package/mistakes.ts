import type { Properties, Template } from './cloudformation.ts';
import type { rules } from './rules.ts';

/** A mistake that somebody could make in serverless.yml, and the rule that must notice it. */
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

/** The statement of a role, or of a policy beside it, that begins with this action. */
const statement = (of: Properties, action: string): Properties => {
  const documents = of.Policies?.map(({ PolicyDocument }: Properties) => PolicyDocument) ?? [
    of.PolicyDocument,
  ];
  const statements: Properties[] = documents.flatMap(({ Statement }: Properties) => Statement);
  return statements.find(({ Action }) => [Action].flat()[0] === action)!;
};

const perRule: Record<string, Omit<Mistake, 'rule'>[]> = {
  'CloudFormation takes it': [
    mistake('a misspelt property', (of) => (of('Ledger').BilingMode = 'PAY_PER_REQUEST')),
    mistake('a reference to what is not there', (of) => (of('LettersAny').AlarmActions = [{ Ref: 'Alarm' }])),
    mistake('a value of the wrong type', (of) => (of('gradepushQueue').VisibilityTimeout = 'long')),
    mistake(
      'an engine that keeps records for longer than it can',
      (of) => (of('CourseDashexportLambdaFunction').DurableConfig.RetentionPeriodInDays = 91),
    ),
  ],
  'every action of IAM exists': [
    mistake(
      'a misspelt action',
      (of) => (statement(of('gradepushRole'), 'sqs:SendMessage').Action = 'sqs:SentMessage'),
    ),
  ],
  'what people are given fits into a policy of IAM, be the names of stage and region as long as they can': [
    mistake('operators with a resource too many', (of) => {
      const { Resource } = statement(of('Operators'), 'lambda:ListDurableExecutionsByFunction');
      Resource.push(...Array.from({ length: 12 }, () => Resource[0]));
    }),
  ],
  'what is allowed is named, and is the stage’s own': [
    mistake('a replay that reaches the queues of other stages', (of) => {
      const move = statement(of('deadletterreplayMovesLetters'), 'sqs:GetQueueUrl');
      move.Resource['Fn::Sub'] = move.Resource['Fn::Sub'].replace('sis-relay-local-*', 'sis-relay-*');
    }),
    mistake('the secret of every stage', (of) => {
      const read = statement(of('gradepushSignsAsService'), 'secretsmanager:GetSecretValue');
      read.Resource['Fn::Sub'] = read.Resource['Fn::Sub'].replace('sis-relay/local', 'sis-relay/*');
    }),
    mistake('operators that pause the functions of other stages', (of) => {
      const pause = statement(of('Pausers'), 'lambda:UpdateEventSourceMapping');
      const arn = pause.Condition.ArnLike['lambda:FunctionArn'];
      arn['Fn::Sub'] = arn['Fn::Sub'].replace('sis-relay-local-*', 'sis-relay-*');
    }),
    mistake('operators that pause whatever there is', (of) => {
      delete statement(of('Pausers'), 'lambda:UpdateEventSourceMapping').Condition;
    }),
    mistake(
      'a wildcard for a resource',
      (of) => (statement(of('gradepushRole'), 'sqs:SendMessage').Resource = '*'),
    ),
    mistake(
      'a wildcard in an action',
      (of) => (statement(of('gradepushRole'), 'sqs:SendMessage').Action = 'sqs:*'),
    ),
  ],
  'every function has a role of its own, which Lambda alone assumes': [
    mistake(
      'two functions that share a role',
      (of) => (of('GradeDashpushLambdaFunction').Role = { 'Fn::GetAtt': ['submissionuploadRole', 'Arn'] }),
    ),
    mistake(
      'a role that anybody may assume',
      (of) => (of('gradepushRole').AssumeRolePolicyDocument.Statement[0].Principal = { AWS: '*' }),
    ),
  ],
  'no function but token-refresh writes a secret, and none but dead-letter-replay reads letters': [
    mistake(
      'a function that reads the letters of all',
      (of) =>
        (statement(of('gradepushRole'), 'sqs:SendMessage').Action = [
          'sqs:SendMessage',
          'sqs:ReceiveMessage',
        ]),
    ),
    mistake(
      'a function that writes its secret',
      (of) =>
        (statement(of('gradepushSignsAsService'), 'secretsmanager:GetSecretValue').Action =
          'secretsmanager:PutSecretValue'),
    ),
  ],
  'the replay reads no user’s secret': [
    mistake('a replay that signs as users', (_, { Resources }) => {
      const policy = structuredClone(Resources.submissionuploadSignsAsUser!);
      Resources.another = {
        ...policy,
        Properties: { ...policy.Properties, RoleName: { Ref: 'deadletterreplayRole' } },
      };
    }),
  ],
  'a queue hides a message for six times as long as its function may work on it': [
    mistake(
      'a visibility timeout of the function’s timeout',
      (of) => (of('gradepushQueue').VisibilityTimeout = 120),
    ),
    mistake('a longer timeout', (of) => (of('GradeDashpushLambdaFunction').Timeout = 300)),
  ],
  'a function knows for how long its queue hides a message': [
    mistake(
      'a queue that hides messages for longer than its function is told',
      (of) => (of('gradepushQueue').VisibilityTimeout = 900),
    ),
  ],
  'a function that a queue triggers has the time for an attempt': [
    mistake('a shorter timeout', (of) => (of('SubmissionDashuploadLambdaFunction').Timeout = 100)),
  ],
  'a container knows how many there are at most, for its even part of PLATFORM_CALLS_PER_MINUTE': [
    mistake('a function with more containers', (of) => {
      of('GradeDashpushEventSourceMappingSQSGradepushQueue').ScalingConfig.MaximumConcurrency = 3;
    }),
    mistake(
      'a function with containers of its own',
      (of) => (of('ConnectionDashcheckLambdaFunction').ReservedConcurrentExecutions = 1),
    ),
  ],
  'every queue moves what kills its function to DeadLetters, and not what only waits for a day': [
    mistake('a queue without redrive', (of) => delete of('enrollmentcreateQueue').RedrivePolicy),
    mistake(
      'a redrive after ten receipts',
      (of) => (of('gradepushQueue').RedrivePolicy.maxReceiveCount = 10),
    ),
    mistake(
      'a DeadLetters that takes nothing from SQS',
      (of) => (of('DeadLetters').RedriveAllowPolicy = { redrivePermission: 'denyAll' }),
    ),
  ],
  'what can be neither handled nor parked is moved to DeadLetters before its queue forgets it': [
    mistake(
      'more receipts than there is time for',
      (of) => (of('gradepushQueue').RedrivePolicy.maxReceiveCount = 1000),
    ),
    mistake(
      'a queue that forgets earlier',
      (of) => (of('gradepushQueue').MessageRetentionPeriod = 4 * 24 * 3600),
    ),
  ],
  'a message fits into DeadLetters together with its failure': [
    mistake(
      'a queue that takes what no letter can hold',
      (of) => (of('gradepushQueue').MaximumMessageSize = 1_048_576),
    ),
    mistake(
      'a queue that takes less than those who publish are told',
      (of) => (of('gradepushQueue').MaximumMessageSize = 262_144),
    ),
  ],
  'every queue keeps its messages for 14 days': [
    mistake(
      'letters that are forgotten after four days',
      (of) => delete of('DeadLetters').MessageRetentionPeriod,
    ),
  ],
  'every mapping reports single failures, batches, and bounds its concurrency': [
    mistake(
      'a mapping that fails whole batches',
      (of) => delete of('GradeDashpushEventSourceMappingSQSGradepushQueue').FunctionResponseTypes,
    ),
    mistake(
      'a mapping without a bound',
      (of) => delete of('GradeDashpushEventSourceMappingSQSGradepushQueue').ScalingConfig,
    ),
    mistake(
      'a queue without a function',
      (_, { Resources }) => delete Resources.GradeDashpushEventSourceMappingSQSGradepushQueue,
    ),
    mistake('a large batch that nobody gathers', (of) => {
      of('GradeDashpushEventSourceMappingSQSGradepushQueue').MaximumBatchingWindowInSeconds = 0;
    }),
    mistake('a queue with two mappings', (_, { Resources }) => {
      Resources.another = structuredClone(Resources.GradeDashpushEventSourceMappingSQSGradepushQueue!);
    }),
  ],
  'queues, files and alarms are reached over TLS alone': [
    mistake('a queue without its policy', (_, { Resources }) => delete Resources.gradepushQueuePolicy),
    mistake(
      'a policy about sending alone',
      (of) => (of('gradepushQueuePolicy').PolicyDocument.Statement[0].Action = 'sqs:SendMessage'),
    ),
    mistake(
      'a policy about the bucket, but not its objects',
      (of) => (of('FilesPolicy').PolicyDocument.Statement[0].Resource = [{ 'Fn::GetAtt': ['Files', 'Arn'] }]),
    ),
    mistake(
      'a policy that denies nothing',
      (of) => (of('FilesPolicy').PolicyDocument.Statement[0].Condition.Bool['aws:SecureTransport'] = 'true'),
    ),
    mistake('a policy that denies it to some alone', (of) => {
      const { Condition } = of('FilesPolicy').PolicyDocument.Statement[0];
      Condition.StringEquals = { 'aws:SourceAccount': '111111111111' };
    }),
  ],
  'queues and buckets are encrypted, and buckets are private': [
    mistake('a queue that is not encrypted', (of) => (of('DeadLetters').SqsManagedSseEnabled = false)),
    mistake(
      'a public bucket',
      (of) => (of('Files').PublicAccessBlockConfiguration.BlockPublicPolicy = false),
    ),
  ],
  'files outlive the messages and letters that name them, and nothing that was begun lies about': [
    mistake(
      'files that go before their letters',
      (of) => (of('Files').LifecycleConfiguration.Rules[0].ExpirationInDays = 14),
    ),
    mistake('a rule for the whole bucket', (of) =>
      of('Files').LifecycleConfiguration.Rules.push({ Id: 'all', Status: 'Enabled', ExpirationInDays: 7 }),
    ),
    mistake('messages that are gone before their letters', (of) => {
      const { Rules } = of('Files').LifecycleConfiguration;
      Rules.find(({ Id }: Properties) => Id === 'letters').ExpirationInDays = 7;
    }),
    mistake('discarded letters that cannot be taken back', (of) => {
      const { Rules } = of('Files').LifecycleConfiguration;
      Rules.find(({ Id }: Properties) => Id === 'discarded').ExpirationInDays = 1;
    }),
    mistake('findings that no audit sees', (of) => {
      const { Rules } = of('Files').LifecycleConfiguration;
      Rules.find(({ Id }: Properties) => Id === 'reconcile').ExpirationInDays = 90;
    }),
    mistake('uploads that break off and stay', (of) => of('Files').LifecycleConfiguration.Rules.pop()),
  ],
  'what is overwritten stays in the audit log, and nobody takes it out; elsewhere it is gone': [
    mistake('an audit log that can be rewritten', (of) => delete of('Files').VersioningConfiguration),
    mistake('an audit log whose entries are written over', (of) =>
      of('FilesPolicy').PolicyDocument.Statement.pop(),
    ),
    mistake('an audit log whose entries are written over by whoever does not say that they are new', (of) => {
      of('FilesPolicy').PolicyDocument.Statement[1].Condition = { Null: { 's3:if-none-match': false } };
    }),
    mistake('an audit log that forgets what was overwritten', (of) =>
      of('Files').LifecycleConfiguration.Rules.push({
        ...{ Id: 'versions', Status: 'Enabled' },
        NoncurrentVersionExpiration: { NoncurrentDays: 1 },
      }),
    ),
    mistake('files that stay as older versions', (of) => {
      delete of('Files').LifecycleConfiguration.Rules[0].NoncurrentVersionExpiration;
    }),
    mistake('operators that delete versions', (of) => {
      statement(of('Operators'), 's3:PutObject').Action = ['s3:PutObject', 's3:DeleteObjectVersion'];
    }),
  ],
  'a function starts when its role may do its work, and a schedule when its role may invoke it': [
    mistake('a function that starts before it may sign', (_, { Resources }) => {
      const lambda = Resources.GradeDashpushLambdaFunction!;
      lambda.DependsOn = [lambda.DependsOn ?? []].flat().filter((id) => id !== 'gradepushSignsAsService');
    }),
    mistake(
      'a schedule that starts before it may invoke',
      (_, { Resources }) => delete Resources.TokenDashrefreshSchedulerSchedule1!.DependsOn,
    ),
  ],
  'traces, a key and a VPC of one’s own are there for prod, which asks for them, and cost others nothing': [
    mistake('traces that nobody asked for', (of) => {
      of('GradeDashpushLambdaFunction').TracingConfig = { Mode: 'Active' };
    }),
    mistake('a VPC that nobody asked for', (of) => {
      of('GradeDashpushLambdaFunction').VpcConfig = { SubnetIds: [''], SecurityGroupIds: [''] };
    }),
    mistakeInProd(
      'a function that is not traced',
      (of) => delete of('GradeDashpushLambdaFunction').TracingConfig,
    ),
    mistakeInProd('traces that a role does not let through', (_, { Conditions }) => {
      Conditions!.Traced = { 'Fn::Equals': ['PassThrough', 'Active'] };
    }),
    mistakeInProd('a function beside the VPC', (of) => delete of('GradeDashpushLambdaFunction').VpcConfig),
    mistakeInProd('a role that cannot join the VPC', (_, { Conditions }) => {
      Conditions!.InVpc = { 'Fn::Equals': ['1', '2'] };
    }),
    mistakeInProd(
      'a queue under another key',
      (of) => (of('gradepushQueue').KmsMasterKeyId = 'alias/aws/sqs'),
    ),
    mistakeInProd('a table under another key', (of) => delete of('Ledger').SSESpecification),
    mistakeInProd('operators that read nothing', (of) => {
      const { Statement } = of('Operators').PolicyDocument;
      of('Operators').PolicyDocument.Statement = Statement.filter((each: Properties) => !each['Fn::If']);
    }),
  ],
  'the tables are those that functions write': [
    mistake('a desk without its lists', (of) => delete of('Desk').GlobalSecondaryIndexes),
    mistake('a desk whose records stay', (of) => delete of('Desk').TimeToLiveSpecification),
    mistake('a ledger that forgets nothing', (of) => delete of('Ledger').TimeToLiveSpecification),
    mistake('a crosswalk by single names', (of) => (of('Crosswalk').KeySchema[0].AttributeName = 'name')),
  ],
  'every function writes to a log that is not kept for ever': [
    mistake('a log without an end', (of) => delete of('GradeDashpushLogGroup').RetentionInDays),
  ],
  'every function runs the code of its name': [
    mistake(
      'a misspelt handler',
      (of) => (of('GradeDashpushLambdaFunction').Handler = 'functions/grade-psuh.handler'),
    ),
    mistake('the code of another function', (of) => {
      of('GradeDashpushLambdaFunction').Code = of('OrgDashunitDashmoveLambdaFunction').Code;
    }),
  ],
  'every function runs on Node 24 for arm64, with settings that it understands': [
    mistake(
      'a setting that nobody reads',
      (of) =>
        (of('GradeDashpushLambdaFunction').Environment.Variables.PLATFORM_ADDRESS = 'https://example.edu'),
    ),
    mistake(
      'a setting that is not usable',
      (of) => (of('GradeDashpushLambdaFunction').Environment.Variables.PLATFORM_URL = 'platform.example.edu'),
    ),
    mistake('another runtime', (of) => (of('GradeDashpushLambdaFunction').Runtime = 'nodejs22.x')),
  ],
  'the engine carries on what is made for it and nothing else, by the version that began it': [
    mistake(
      'an export that the engine does not carry on',
      (of) => delete of('CourseDashexportLambdaFunction').DurableConfig,
    ),
    mistake('messages that the engine carries on', (of) => {
      of('GradeDashpushLambdaFunction').DurableConfig = { ExecutionTimeout: 900 };
    }),
    mistake('a schedule that names no version', (of) => {
      of('CourseDashexportSchedulerSchedule1').Target.Arn = {
        'Fn::GetAtt': ['CourseDashexportLambdaFunction', 'Arn'],
      };
    }),
    mistake(
      'an export that meets the next night’s',
      (of) => (of('CourseDashexportLambdaFunction').DurableConfig.ExecutionTimeout = 172_800),
    ),
    mistake(
      'an export that throttles the next one’s question',
      (of) => (of('CourseDashexportLambdaFunction').ReservedConcurrentExecutions = 1),
    ),
  ],
  'what a schedule starts is not tried again by Lambda, and refreshes and replays run one at a time': [
    mistake(
      'two replays at once',
      (of) => delete of('DeadDashletterDashreplayLambdaFunction').ReservedConcurrentExecutions,
    ),
    mistake(
      'a retry of a schedule',
      (of) => (of('DeadDashletterDashreplayLambdaEvConf').MaximumRetryAttempts = 2),
    ),
    mistake(
      'two refreshes at once',
      (of) => delete of('TokenDashrefreshLambdaFunction').ReservedConcurrentExecutions,
    ),
    mistake(
      'a function that may never run',
      (of) => (of('ConnectionDashcheckLambdaFunction').ReservedConcurrentExecutions = 0),
    ),
  ],
  'a schedule may invoke its function and nothing else': [
    mistake('a schedule that may not', (_, { Resources }) => delete Resources.tokenrefreshInvocation),
    mistake(
      'a schedule that may do more',
      (of) => (statement(of('tokenrefreshInvocation'), 'lambda:InvokeFunction').Resource = '*'),
    ),
  ],
  'each queue, function, job and schedule is watched, by an alarm that tells somebody when it begins and ends':
    [
      mistake('letters that lie there unheard', (_, { Resources }) => delete Resources.LettersAny),
      mistake('a queue that nobody watches', (of) => of('QueueOldest1').Metrics.pop()),
      mistake('a function that fails unheard', (of) => of('FunctionErrors2').Metrics.pop()),
      mistake('an alarm that tells nobody', (of) => (of('LettersAny').AlarmActions = [])),
      mistake('an alarm that is switched off', (of) => (of('LettersNearTheirEnd').ActionsEnabled = false)),
      mistake('an alarm that does not tell its end', (of) => delete of('LettersAny').OKActions),
      mistake('a part of an alarm that belongs to none', (of) => {
        of('Waiting').AlarmRule = { 'Fn::Sub': `ALARM("\${WaitingTooLong}")` };
      }),
    ],
  'a schedule that falls silent alarms, and a connection-check like one that fails': [
    mistake('a schedule whose silence is health', (of) => {
      of('SchedulesSilent').Metrics[0].Expression = 'FILL(m0, 1)';
    }),
    mistake('a schedule that proves itself alive', (of) => {
      const { Metrics } = of('SchedulesSilent');
      Metrics.at(-1).MetricStat = Metrics[1].MetricStat;
    }),
    mistake(
      'a check whose silence nobody hears',
      (of) => delete of('ConnectionFails').InsufficientDataActions,
    ),
    mistake(
      'an alarm that takes silence for health',
      (of) => (of('ConnectionFails').TreatMissingData = 'notBreaching'),
    ),
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
  'the dashboard shows outcomes, what waits and why, the platform’s answers, the pace and the letters': [
    mistake('a dashboard without refused calls', (of) => {
      const { DashboardBody } = of('Dashboard');
      DashboardBody['Fn::Sub'] = DashboardBody['Fn::Sub'].replaceAll('PaceRefused', 'PaceCalls');
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
    mistake('a function without a place for what is no letter to SQS', (of) => {
      delete of('GradeDashpushLambdaFunction').Environment.Variables.LETTERS_BUCKET;
    }),
    mistake('a function without the ledger', (of) => {
      delete of('GradeDashpushLambdaFunction').Environment.Variables.LEDGER_TABLE;
    }),
    mistake('a function with another’s queue', (of) => {
      of('GradeDashpushLambdaFunction').Environment.Variables.QUEUE_URL = { Ref: 'enrollmentcreateQueue' };
    }),
    mistake('letters that go back to their queue', (of) => {
      of('GradeDashpushLambdaFunction').Environment.Variables.DEAD_LETTER_QUEUE_URL = {
        Ref: 'gradepushQueue',
      };
    }),
    mistake('another stage’s secrets', (of) => {
      of('GradeDashpushLambdaFunction').Environment.Variables.SECRET_PREFIX = 'sis-relay/prod';
    }),
  ],
  'a mapping takes all that a queue holds to the function of its name, no faster than the platform allows': [
    mistake('a queue that leads to another function', (of) => {
      of('GradeDashpushEventSourceMappingSQSGradepushQueue').FunctionName = {
        'Fn::GetAtt': ['EnrollmentDashcreateLambdaFunction', 'Arn'],
      };
    }),
    mistake(
      'a mapping that is switched off',
      (of) => (of('GradeDashpushEventSourceMappingSQSGradepushQueue').Enabled = false),
    ),
    mistake(
      'a mapping that drops what it does not know',
      (of) =>
        (of('GradeDashpushEventSourceMappingSQSGradepushQueue').FilterCriteria = {
          Filters: [{ Pattern: '{"body":{"type":["sis.grade-push.v2"]}}' }],
        }),
    ),
    mistake('a mapping that overruns the platform', (of) => {
      of('GradeDashpushEventSourceMappingSQSGradepushQueue').ScalingConfig.MaximumConcurrency = 1000;
    }),
    mistake('a large batch of files', (of) => {
      of('SubmissionDashuploadEventSourceMappingSQSSubmissionuploadQueue').BatchSize = 50;
    }),
    mistake(
      'a function that its mapping overruns',
      (of) => (of('GradeDashpushLambdaFunction').ReservedConcurrentExecutions = 1),
    ),
  ],
  'what cannot be had again outlives the stack, and the ledger can be restored': [
    mistake(
      'letters that go with the stack',
      (_, { Resources }) => delete Resources.DeadLetters!.DeletionPolicy,
    ),
    mistake(
      'messages that go with the stack',
      (_, { Resources }) => (Resources.gradepushQueue!.DeletionPolicy = 'Delete'),
    ),
    mistake(
      'a bucket that goes when it is replaced',
      (_, { Resources }) => delete Resources.Files!.UpdateReplacePolicy,
    ),
    mistakeInProd(
      'a ledger that a slip of the hand deletes',
      (of) => (of('Ledger').DeletionProtectionEnabled = false),
    ),
    mistake('a ledger without backup', (of) => delete of('Ledger').PointInTimeRecoverySpecification),
  ],
  'of what all share, a function reaches its own part alone': [
    mistake('the names of all files', (of) => {
      const { Statement } = of('courseexportWritesFiles').PolicyDocument;
      Statement.push({
        ...{ Effect: 'Allow', Action: 's3:ListBucket' },
        Resource: { 'Fn::GetAtt': ['Files', 'Arn'] },
      });
    }),
    mistake('exports that are finished', (of) => {
      statement(of('courseexportWritesFiles'), 's3:GetObject').Resource = {
        'Fn::Join': ['', [{ 'Fn::GetAtt': ['Files', 'Arn'] }, '/course-exports/*']],
      };
    }),
    mistake('messages of all functions', (of) => {
      statement(of('gradepushRole'), 's3:PutObject').Resource = {
        'Fn::Join': ['', [{ 'Fn::GetAtt': ['Files', 'Arn'] }, '/letters/*']],
      };
    }),
    mistake('files of all functions', (of) => {
      statement(of('submissionuploadReadsFiles'), 's3:GetObject').Resource = {
        'Fn::Join': ['', [{ 'Fn::GetAtt': ['Files', 'Arn'] }, '/*']],
      };
    }),
    mistake('a secret’s name without what AWS adds', (of) => {
      const read = statement(of('gradepushSignsAsService'), 'secretsmanager:GetSecretValue');
      read.Resource['Fn::Sub'] = read.Resource['Fn::Sub'].replace('-??????', '');
    }),
    mistake('all secrets of the stage', (of) => {
      const read = statement(of('gradepushSignsAsService'), 'secretsmanager:GetSecretValue');
      read.Resource['Fn::Sub'] = read.Resource['Fn::Sub'].replace('service-??????', '*');
    }),
  ],
  'of the ledger, a function reaches the resources that its messages change': [
    mistake('an integration that changes what its role may not claim', (_, { Mappings }) => {
      delete Mappings!.Changes!['grade-push'];
    }),
    mistake('the resources of another', (_, { Mappings }) => {
      Mappings!.Changes!['org-unit-move']!.resources = ['org-units/*'];
    }),
    mistake('resources beside its own', (_, { Mappings }) => {
      Mappings!.Changes!['enrollment-remove']!.resources = ['enrollment/*', 'grade/*'];
    }),
    mistake('one of two kinds that is misspelt', (_, { Mappings }) => {
      Mappings!.Changes!['content-topic-update']!.resources = ['topic/*', 'topicfile/*'];
    }),
    mistake('incidents of other functions', (of) => {
      const keys = statement(of('gradepushRole'), 'dynamodb:UpdateItem').Condition['ForAllValues:StringLike'];
      keys['dynamodb:LeadingKeys'] = ['incident/*'];
    }),
    mistake('the calls of other functions', (of) => {
      const keys = statement(of('gradepushRole'), 'dynamodb:UpdateItem').Condition['ForAllValues:StringLike'];
      keys['dynamodb:LeadingKeys'] = ['pace/*'];
    }),
    mistake('the receipts of other functions', (of) => {
      const { Statement } = of('gradepushRole').Policies[0].PolicyDocument;
      const own = Statement.find((each: object) => JSON.stringify(each).includes('receipt/'));
      own.Condition['ForAllValues:StringLike']['dynamodb:LeadingKeys'] = ['receipt/*'];
    }),
    mistake('a check that ends incidents', (of) => {
      statement(of('connectioncheckReadsIncidents'), 'dynamodb:GetItem').Action = 'dynamodb:UpdateItem';
    }),
    mistake('the ledger as a whole', (of) => {
      delete statement(of('gradepushRole'), 'dynamodb:GetItem').Condition;
    }),
    mistake('a comparison that writes what it compares with', (of) => {
      statement(of('reconcileCompares'), 'dynamodb:Scan').Action = ['dynamodb:Scan', 'dynamodb:PutItem'];
    }),
    mistake('a comparison that looks at incidents', (of) => {
      delete statement(of('reconcileCompares'), 'dynamodb:GetItem').Condition;
    }),
  ],
  'who looks whether something was done reads the ledger’s key, which nobody can guess': [
    mistake('a key that can be guessed', (of) => {
      of('LedgerKey').GenerateSecretString.PasswordLength = 8;
    }),
    mistake('who may not read the key', (_, { Resources }) => delete Resources.gradepushReadsLedgerKey),
    mistake('a comparison without the key', (_, { Resources }) => delete Resources.reconcileReadsLedgerKey),
    mistake('who is not told of the key', (of) => {
      delete of('GradeDashpushLambdaFunction').Environment.Variables.LEDGER_KEY_SECRET;
    }),
    mistake('a function that reads the key in vain', (_, { Resources }) => {
      const policy = structuredClone(Resources.gradepushReadsLedgerKey!);
      Resources.another = {
        ...policy,
        Properties: { ...policy.Properties, RoleName: { Ref: 'orgunitmoveRole' } },
      };
    }),
  ],
  'nobody else is let in: no managed policy, no address, no permission by a resource': [
    mistake('a role with a policy of AWS', (of) => {
      of('gradepushRole').ManagedPolicyArns = ['arn:aws:iam::aws:policy/AmazonSQSFullAccess'];
    }),
    mistake('a policy that stands beside the stack’s own', (_, { Resources }) => {
      Resources.another = {
        Type: 'AWS::IAM::Policy',
        Properties: {
          PolicyName: 'all',
          Roles: [{ Ref: 'gradepushRole' }],
          PolicyDocument: {
            Version: '2012-10-17',
            Statement: [{ Effect: 'Allow', Action: '*', Resource: '*' }],
          },
        },
      };
    }),
    mistake(
      'a function that may do what operators may',
      (of) => (of('Operators').Roles = [{ Ref: 'gradepushRole' }]),
    ),
    mistake('a role of schedules that anybody may assume', (of) => {
      of('SchedulerRole').AssumeRolePolicyDocument.Statement[0].Principal = { AWS: '*' };
    }),
    mistake('files that a policy of the bucket gives away', (of) => {
      of('FilesPolicy').PolicyDocument.Statement.push({
        Effect: 'Allow',
        Principal: '*',
        Action: 's3:GetObject',
        Resource: { 'Fn::Join': ['', [{ 'Fn::GetAtt': ['Files', 'Arn'] }, '/*']] },
        Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
      });
    }),
    mistake('a function with an address of its own', (_, { Resources }) => {
      Resources.address = {
        Type: 'AWS::Lambda::Url',
        Properties: {
          TargetFunctionArn: { 'Fn::GetAtt': ['GradeDashpushLambdaFunction', 'Arn'] },
          AuthType: 'NONE',
        },
      };
    }),
    mistake('a queue to which anybody may send', (of) => {
      of('gradepushQueuePolicy').PolicyDocument.Statement.push({
        Effect: 'Allow',
        Principal: '*',
        Action: 'sqs:SendMessage',
        Resource: { 'Fn::GetAtt': ['gradepushQueue', 'Arn'] },
      });
    }),
    mistake(
      'schedules of other accounts',
      (of) => delete of('SchedulerRole').AssumeRolePolicyDocument.Statement[0].Condition,
    ),
  ],
  'producers send messages and files and no letters, and operators read no user’s secret': [
    mistake('producers that write letters', (of) => of('Producers').PolicyDocument.Statement.splice(1, 1)),
    mistake('producers that read messages', (of) =>
      statement(of('Producers'), 'sqs:GetQueueUrl').Action.push('sqs:ReceiveMessage'),
    ),
    mistake('operators that take messages out of their queues', (of) => {
      const sending = statement(of('Operators'), 'sqs:GetQueueUrl');
      statement(of('Operators'), 'sqs:DeleteMessage').Resource = sending.Resource;
    }),
    mistake('operators that change the ledger', (of) => {
      statement(of('Operators'), 'dynamodb:GetItem').Action = ['dynamodb:GetItem', 'dynamodb:PutItem'];
    }),
    mistake('operators that list the ledger', (of) => {
      statement(of('Operators'), 'dynamodb:Scan').Resource = [
        { 'Fn::GetAtt': ['Desk', 'Arn'] },
        { 'Fn::GetAtt': ['Ledger', 'Arn'] },
      ];
    }),
    mistake('operators that read what users sign with', (of) => {
      statement(of('Operators'), 'secretsmanager:DescribeSecret').Action = 'secretsmanager:GetSecretValue';
    }),
  ],
  'every schedule is in force, at a time that there is, and often enough': [
    mistake(
      'a schedule that is switched off',
      (of) => (of('TokenDashrefreshSchedulerSchedule1').State = 'DISABLED'),
    ),
    mistake(
      'a schedule that has ended',
      (of) => (of('TokenDashrefreshSchedulerSchedule1').EndDate = '2026-01-01T00:00:00Z'),
    ),
    mistake('some courses every night', (of) => {
      of('CourseDashexportSchedulerSchedule1').Target.Input = '{"orgUnitIds":[2001]}';
    }),
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
