import type { OpenAPIV3_1 } from 'openapi-types'
import { buildApp } from '../../src/main/http.ts'
import { makeLog } from '../../src/platform/telemetry/log.ts'

/** The OpenAPI document of all routes, which needs neither a database nor a port. */
export async function apiDocument(): Promise<OpenAPIV3_1.Document> {
  const nothing = { db: {}, folder: {}, keys: {}, accept: {}, suppression: {}, webhooks: {}, tokens: {} }
  const log = makeLog({ level: 'silent', pretty: false })
  const parts = { ...nothing, events: { resendSecrets: [] }, log, publicUrl: 'http://gateway.test', version: '0' }
  const app = await buildApp(parts as never)
  await app.ready()
  const document = app.swagger()
  await app.close()
  return document as OpenAPIV3_1.Document
}
