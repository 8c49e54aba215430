import type { TestProject } from 'vitest/node'
import { makeTemplate, removeLeftovers } from './postgres.ts'
import { startStockPostgres } from './stock-postgres.ts'

/** One stock server for the whole run, with a migrated database for the tests to clone. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeLeftovers()
  const server = await startStockPostgres()
  try {
    await makeTemplate(server.url)
  } catch (error) {
    await server.close()
    throw error
  }
  project.provide('postgresUrl', server.url)
  // Tests that start an embedded server make its cluster themselves.
  project.provide('madeCluster', '')
  return server.close
}
