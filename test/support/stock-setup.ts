import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { makeTemplate, makeTestFolder, removeLeftovers } from './postgres.ts'
import { buildFakeSes } from './spawn-fake-ses.ts'
import { startStockPostgres } from './stock-postgres.ts'

/** One stock server for the whole run, with a migrated database for the tests to clone. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeLeftovers()
  const server = await startStockPostgres()
  const folder = await makeTestFolder()
  const fakeSes = join(folder, 'fake-ses.mjs')
  const teardown = async () => {
    await server.close()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await makeTemplate(server.url)
    await buildFakeSes(fakeSes)
  } catch (error) {
    await teardown()
    throw error
  }
  project.provide('postgresUrl', server.url)
  project.provide('fakeSes', fakeSes)
  // Tests that start an embedded server make its cluster themselves.
  project.provide('madeCluster', '')
  return teardown
}
