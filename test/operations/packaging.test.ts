import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Copy, DockerfileParser } from 'dockerfile-ast'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readInput } from '../../src/console/arguments.ts'
import { COMMANDS } from '../../src/main/commands.ts'
import { LONGEST_STOP_MS } from '../../src/main/start.ts'
import { MAX_CONNECTIONS_OF_PROCESS } from '../../src/platform/postgres/pool.ts'
import { checkRedisSettings } from '../../src/platform/redis.ts'
import { readSettings } from '../../src/settings/config.ts'
import { settingsSchema } from '../../src/settings/settings.ts'
import { apiDocument } from '../support/api-document.ts'
import { atCleanUp, cleanUp, ROOT } from '../support/process.ts'
import { startRedis } from '../support/redis-server.ts'

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const SETTINGS = [...Object.keys(settingsSchema.shape), 'NODE_ENV']
const NOT_A_SETTING = (names: string[]) => names.filter(name => !SETTINGS.includes(name))
const seconds = (text: string | number) => Number(String(text).replace(/s$/, ''))

let routes: string[]

beforeAll(async () => {
  routes = Object.keys((await apiDocument()).paths ?? {})
})
afterAll(cleanUp)

/** As the program itself reads its arguments. */
async function isCommand([name = '', ...rest]: string[]): Promise<void> {
  expect(Object.keys(COMMANDS)).toContain(name)
  readInput(rest, await COMMANDS[name]!.load())
}

describe('the package', () => {
  const manifest = JSON.parse(read('package.json'))
  const pack = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const packed = (): string[] => {
    const [{ files }] = JSON.parse(execFileSync('npm', pack, { cwd: ROOT, encoding: 'utf8' }))
    return files.map(({ path }: { path: string }) => path)
  }

  test('can be published, and says what it needs', () => {
    expect(manifest).toMatchObject({ name: 'email-gateway', license: 'MIT', engines: { node: '>=20.19' } })
    expect(manifest.private).toBeUndefined()
    expect(
      Object.values(manifest.dependencies).filter(version => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(String(version))),
    ).toEqual([])
  })

  test('holds what the program reads', () => {
    const migrations = readdirSync(join(ROOT, 'migrations'), { recursive: true, encoding: 'utf8' })
    const needed = [
      ...['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', '.env.example'],
      ...['bin/email-gateway.js', 'bin/package.json', 'dist/main/cli.js', 'dist/contracts.d.ts'],
      'dist/admin/index.html',
      ...migrations.filter(name => name.endsWith('.sql')).map(name => `migrations/${name}`),
    ]
    expect(packed()).toEqual(expect.arrayContaining(needed))
  })

  test('holds nothing else', () => {
    const wanted = /^(bin|dist|migrations|ops)\/|^(package\.json|README\.md|LICENSE|CHANGELOG\.md|\.env\.example)$/
    expect(packed().filter(path => !wanted.test(path) || /\.test\.|\.map$|tsbuildinfo/.test(path))).toEqual([])
  })

  test('has its version in one place', () => {
    const { version } = manifest
    const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter(name =>
      /(?<!test)\.ts$/.test(name),
    )
    expect(sources.filter(name => read(`src/${name}`).includes(`'${version}'`))).toEqual([])
    expect(JSON.parse(read('package-lock.json')).version).toBe(version)
    expect(read('CHANGELOG.md')).toMatch(new RegExp(`^## \\[?${version.replaceAll('.', '\\.')}\\b`, 'm'))
  })
})

describe('Dockerfile', () => {
  const instructions = DockerfileParser.parse(read('Dockerfile')).getInstructions()
  const stages = instructions.flatMap((one, index) => (one.getKeyword() === 'FROM' ? [index] : []))
  const last = instructions.slice(stages.at(-1))
  const only = (keyword: string) => {
    const found = last.filter(one => one.getKeyword() === keyword)
    expect(found).toHaveLength(1)
    return found[0]!.getArgumentsContent() ?? ''
  }

  test('copies only what is in the repository and not ignored', () => {
    const ignored = read('.dockerignore').split('\n')
    const copied = instructions
      .filter(one => one instanceof Copy && one.getFromFlag() === null)
      .flatMap(one =>
        one
          .getArguments()
          .slice(0, -1)
          .map(argument => argument.getValue()),
      )
    expect(copied.length).toBeGreaterThan(5)
    for (const path of copied) {
      expect(existsSync(join(ROOT, path)), path).toBe(true)
      expect(ignored).toContain(`!${path}`)
    }
  })

  test('makes an image without development dependencies that does not run as root', () => {
    const copies = last
      .filter(one => one instanceof Copy)
      .map(one => `${one.getFromFlag()} ${one.getArgumentsContent()}`)
    expect(copies).toContain('--from=dependencies /build/node_modules node_modules')
    const text = read('Dockerfile')
    expect(text.slice(text.indexOf('AS dependencies'))).toMatch(/^RUN npm ci --omit=dev --ignore-scripts/m)
    expect(only('USER')).toBe('node')
  })

  test('starts the program, and asks a route that there is whether it is well', async () => {
    expect(only('STOPSIGNAL')).toBe('SIGTERM')
    const [, file] = JSON.parse(only('ENTRYPOINT'))
    expect(existsSync(join(ROOT, file.replace('/app/', '')))).toBe(true)
    await isCommand(JSON.parse(only('CMD')))
    const health = only('HEALTHCHECK')
    expect(routes).toContain(/(\/health\/\w+)/.exec(health)?.[1])
    const named = [...health.matchAll(/process\.env\.(\w+)/g)].map(match => match[1]!)
    const set = only('ENV')
      .split(' ')
      .map(pair => pair.split('=')[0]!)
    expect(NOT_A_SETTING([...named, ...set])).toEqual([])
    expect(only('ENV')).toContain(`PORT=${only('EXPOSE')}`)
  })
})

describe('compose.yaml', () => {
  type Service = {
    command?: string[]
    environment?: Record<string, unknown>
    volumes?: string[]
    stop_grace_period?: string
    image: string
    read_only?: boolean
    ports?: string[]
  }
  const { services } = parse(read('compose.yaml'), { merge: true }) as { services: Record<string, Service> }
  const gateways = Object.values(services).filter(service => service.image === 'email-gateway')

  test('runs the gateway as migration, API and worker, with settings that there are', async () => {
    expect(gateways.map(service => service.command!.join(' '))).toEqual([
      'migrate',
      'start --role api',
      'start --role worker',
    ])
    for (const { command, environment } of gateways) {
      await isCommand(command!)
      expect(NOT_A_SETTING(Object.keys(environment!))).toEqual([])
    }
  })

  test('gives it the time that a stop takes, and no more rights than it needs', () => {
    for (const service of gateways) {
      expect(seconds(service.stop_grace_period!) * 1000).toBeGreaterThanOrEqual(LONGEST_STOP_MS.given)
      expect(service.read_only).toBe(true)
    }
  })

  test('mounts files that are in the repository', () => {
    const mounted = Object.values(services).flatMap(({ volumes = [] }) => volumes.map(volume => volume.split(':')[0]!))
    const files = mounted.filter(path => path.startsWith('./'))
    expect(files.filter(path => !existsSync(join(ROOT, path)))).toEqual([])
    expect(files).toContain('./ops/redis.conf')
  })

  test('lets Prometheus find the API and every worker', () => {
    const { status, stderr } = spawnSync('promtool', [
      'check',
      'config',
      '--syntax-only',
      join(ROOT, 'ops/compose/prometheus.yml'),
    ])
    expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: '' })
    const { scrape_configs: jobs } = parse(read('ops/compose/prometheus.yml'))
    expect(jobs[0]).toMatchObject({
      static_configs: [{ targets: [`api:${services.api!.environment!.PORT}`] }],
      dns_sd_configs: [{ names: ['worker'], port: services.worker!.environment!.METRICS_PORT }],
    })
  })

  test('shows Grafana the dashboards where it looks for them, and the Prometheus that they ask', () => {
    const { providers } = parse(read('ops/grafana/provisioning/dashboards/email-gateway.yml'))
    const mounted = services.grafana!.volumes!.map(volume => volume.split(':')[1])
    expect(mounted).toContain(providers[0].options.path)
    const [ours] = parse(read('ops/compose/grafana-datasource.yml')).datasources
    const [theirs] = parse(read('ops/grafana/provisioning/datasources/prometheus.yml')).datasources
    expect(ours).toEqual({ ...theirs, url: 'http://prometheus:9090' })
  })

  test('opens ports on this machine only', () => {
    const ports = Object.values(services).flatMap(service => service.ports ?? [])
    expect(ports.filter(port => !port.startsWith('127.0.0.1:'))).toEqual([])
  })

  test('needs only variables that docs/installing.md explains', () => {
    const needed = new Set([...read('compose.yaml').matchAll(/\$\{(\w+)/g)].map(match => match[1]!))
    expect([...needed].filter(name => !read('docs/installing.md').includes(`${name}=`))).toEqual([])
  })
})

test('docs/installing.md runs commands with the user, the settings and the data of the unit', () => {
  const unit = read('ops/systemd/email-gateway.service').split('\n')
  const command = /systemd-run ([\s\S]*?)\n```/.exec(read('docs/installing.md'))![1]!.replaceAll(/\\\n\s*/g, '')
  const given = [...command.matchAll(/--property=(\S+)/g)].map(([, property]) => property!)
  expect(given.length).toBeGreaterThan(3)
  expect(given.filter(property => !unit.includes(property))).toEqual([])
  expect(unit).toContain(`ExecStart=${/\/usr\/bin\/env \S+ \S+/.exec(command)![0]} start`)
})

test('docs/installing.md counts the connections of a rollout', () => {
  const deployments = ['api', 'worker'].map(name => parse(read(`ops/kubernetes/${name}.yaml`).split('\n---')[0]!).spec)
  const processes = deployments.reduce((sum, one) => sum + one.replicas + one.strategy.rollingUpdate.maxSurge, 0)
  expect(read('docs/installing.md')).toContain(`${processes} × ${MAX_CONNECTIONS_OF_PROCESS} + 10 = `)
})

test('docs/installing.md uses files that are in the repository', () => {
  const named = [...read('docs/installing.md').matchAll(/\bops\/[\w@./-]+\w/g)].map(([path]) => path)
  expect(named.length).toBeGreaterThan(5)
  expect(named.filter(path => !existsSync(join(ROOT, path)))).toEqual([])
})

test('ops/redis.conf starts a Redis that loses and evicts nothing', async () => {
  const redis = await startRedis()
  atCleanUp(() => redis.close())
  expect(await checkRedisSettings(redis.url)).toEqual([])
  const settings = ['maxmemory', 'auto-aof-rewrite-percentage', 'auto-aof-rewrite-min-size', 'aof-use-rdb-preamble']
  const found = await Promise.all(settings.map(name => redis.client().config('GET', name) as Promise<string[]>))
  expect(found.map(([, value]) => value)).toEqual([String(512 * 1024 ** 2), '100', String(64 * 1024 ** 2), 'yes'])
})

describe.each(readdirSync(join(ROOT, 'ops/systemd')))('ops/systemd/%s', name => {
  const file = join(ROOT, 'ops/systemd', name)
  const lines = readFileSync(file, 'utf8').split('\n')
  const values = (key: string) =>
    lines.filter(line => line.startsWith(`${key}=`)).map(line => line.slice(key.length + 1))

  test('is a unit that systemd understands', () => {
    // Where systemd is missing, or in a container without it, the other tests count.
    if (spawnSync('systemd-analyze', ['--version']).status !== 0) return
    const { stderr } = spawnSync('systemd-analyze', ['verify', file.replace('@.', '@1.')], { encoding: 'utf8' })
    const ours = stderr.split('\n').filter(line => line.includes('email-gateway') && !line.includes('Failed to'))
    expect(ours).toEqual([])
  })

  test('starts a command that there is, as an ordinary user, and waits for its end', async () => {
    const [command = ''] = values('ExecStart')
    await isCommand(command.split('/bin/email-gateway.js ')[1]!.split(' '))
    expect(values('User')).toEqual(['email-gateway'])
    expect(NOT_A_SETTING(values('Environment').map(pair => pair.split('=')[0]!))).toEqual([])
    const longest = command.includes('--role') ? LONGEST_STOP_MS.given : LONGEST_STOP_MS.embedded
    expect(Number(values('TimeoutStopSec')[0]) * 1000).toBeGreaterThanOrEqual(longest)
  })
})

describe('ops/kubernetes', () => {
  type Labels = Record<string, string>
  type Probe = { httpGet: { path: string; port: string } }
  type Container = {
    image: string
    args: string[]
    env?: { name: string; value: string }[]
    envFrom: { configMapRef?: { name: string }; secretRef?: { name: string } }[]
    ports?: { name: string; containerPort: number }[]
    securityContext: object
    resources: { requests: object; limits: object }
    [probe: `${string}Probe`]: Probe
  }
  type Pod = { terminationGracePeriodSeconds?: number; securityContext: object; containers: Container[] }
  type Item = {
    kind: string
    metadata: { name: string }
    data?: Labels
    stringData?: Labels
    spec: {
      selector: Labels & { matchLabels: Labels }
      template: { metadata: { labels: Labels }; spec: Pod }
      ports: { targetPort: string }[]
    }
  }
  const items = readdirSync(join(ROOT, 'ops/kubernetes'))
    .filter(name => name.endsWith('.yaml'))
    .flatMap(name => parseAllDocuments(read(`ops/kubernetes/${name}`)).map(document => document.toJS() as Item))
  const of = (kind: string) => items.filter(item => item.kind === kind)
  const pods = [...of('Deployment'), ...of('Job')].map(({ spec }) => spec.template)
  const containers = pods.flatMap(pod => pod.spec.containers)
  const [settings, secret] = [of('ConfigMap')[0]!, of('Secret')[0]!]
  const env = { ...settings.data, ...secret.stringData }

  test('has an API, workers, a migration, a service, and budgets for disruptions', () => {
    expect(items.map(item => `${item.kind} ${item.metadata.name}`).sort()).toEqual([
      'ConfigMap email-gateway',
      'Deployment email-gateway-api',
      'Deployment email-gateway-worker',
      'Job email-gateway-migrate',
      'PodDisruptionBudget email-gateway-api',
      'PodDisruptionBudget email-gateway-worker',
      'Secret email-gateway',
      'Service email-gateway-api',
    ])
  })

  test('has settings that the program takes', () => {
    const own = containers.flatMap(container => container.env ?? []).map(({ name }) => name)
    expect(NOT_A_SETTING([...Object.keys(env), ...own])).toEqual([])
    expect(() => readSettings(env)).toThrow('ENCRYPTION_KEY: is the placeholder')
    const { DATABASE_URL, ...secrets } = secret.stringData!
    const made = Object.fromEntries(Object.keys(secrets).map(name => [name, 'ab'.repeat(32)]))
    expect(readSettings({ ...env, ...made, DATABASE_URL })).toMatchObject({ PORT: 3000, EMAIL_PROVIDER: ['ses'] })
    for (const { envFrom } of containers)
      expect(envFrom).toEqual([
        { configMapRef: { name: settings.metadata.name } },
        { secretRef: { name: secret.metadata.name } },
      ])
  })

  test('runs commands that there are, of this version, as an ordinary user that writes nothing', async () => {
    const { version } = JSON.parse(read('package.json'))
    for (const { spec } of pods) expect(spec.securityContext).toMatchObject({ runAsNonRoot: true })
    for (const { args, image, securityContext, resources } of containers) {
      await isCommand(args)
      expect(image).toBe(`email-gateway:${version}`)
      expect(securityContext).toMatchObject({ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false })
      expect(Object.keys(resources)).toEqual(['requests', 'limits'])
    }
  })

  test('asks routes that there are, on ports that are open', () => {
    const probes = containers.flatMap(container =>
      Object.entries(container).flatMap(([name, value]) =>
        name.endsWith('Probe') ? [{ container, probe: value as Probe }] : [],
      ),
    )
    expect(probes.length).toBeGreaterThan(2)
    for (const { container, probe } of probes) {
      expect(routes).toContain(probe.httpGet.path)
      const port = container.ports!.find(({ name }) => name === probe.httpGet.port)!
      const own = container.env?.find(({ name }) => name === 'METRICS_PORT')?.value
      expect(String(port.containerPort)).toBe(own ?? env.PORT)
    }
  })

  test('gives pods the time that a stop takes', () => {
    for (const { spec } of of('Deployment')) {
      expect(spec.template.spec.terminationGracePeriodSeconds! * 1000).toBeGreaterThanOrEqual(LONGEST_STOP_MS.given)
    }
  })

  test('has selectors that find their pods', () => {
    const labels = pods.map(pod => pod.metadata.labels)
    const selectors = [...of('Deployment'), ...of('PodDisruptionBudget')].map(({ spec }) => spec.selector.matchLabels)
    for (const wanted of [...selectors, of('Service')[0]!.spec.selector])
      expect(labels.filter(found => Object.entries(wanted).every(([key, value]) => found[key] === value))).toHaveLength(
        1,
      )
  })
})
