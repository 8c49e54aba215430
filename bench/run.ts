import { benchAccept } from './accept.ts'
import { benchAcceptMemory } from './accept-memory.ts'
import { benchAcceptMillion } from './accept-million.ts'
import { benchAdmin } from './admin.ts'
import { benchClaim } from './claim.ts'
import { benchDiskBytes } from './disk-bytes.ts'
import { benchDrainBullmq, benchDrainDirect } from './drain.ts'
import { benchEvents } from './events.ts'
import { benchFairness } from './fairness.ts'
import { benchLatency } from './latency.ts'
import { benchLedger } from './ledger.ts'
import { benchMetrics } from './metrics.ts'
import { benchRedisBytes } from './redis-bytes.ts'
import { benchReferences } from './references.ts'
import { benchRetention } from './retention.ts'
import { benchScaling } from './scaling.ts'
import { benchSmtpIngress } from './smtp-ingress.ts'
import { benchSql } from './sql.ts'
import { benchSuppression } from './suppression.ts'
import { benchTelemetry } from './telemetry.ts'
import { benchTemplateRender } from './template-render.ts'
import { benchWebhooks } from './webhooks.ts'

const BENCHMARKS: Record<string, () => Promise<void>> = {
  admin: benchAdmin,
  accept: benchAccept,
  'accept-million': benchAcceptMillion,
  'accept-memory': benchAcceptMemory,
  claim: benchClaim,
  'disk-bytes': benchDiskBytes,
  'drain-direct': benchDrainDirect,
  'drain-bullmq': benchDrainBullmq,
  events: benchEvents,
  fairness: benchFairness,
  latency: benchLatency,
  metrics: benchMetrics,
  ledger: benchLedger,
  'redis-bytes': benchRedisBytes,
  references: benchReferences,
  retention: benchRetention,
  scaling: benchScaling,
  'smtp-ingress': benchSmtpIngress,
  sql: benchSql,
  suppression: benchSuppression,
  telemetry: benchTelemetry,
  'template-render': benchTemplateRender,
  webhooks: benchWebhooks,
}

const wanted = process.argv.slice(2)
for (const name of wanted.length > 0 ? wanted : Object.keys(BENCHMARKS)) {
  const bench = BENCHMARKS[name]
  if (!bench) {
    console.error(`There is no benchmark "${name}". There are: ${Object.keys(BENCHMARKS).join(', ')}`)
    process.exit(2)
  }
  await bench()
}
