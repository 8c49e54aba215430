import type { Reporter, TestModule } from 'vitest/node'

/** Ends the run with the plain line that scripts and people can count on. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap(module => [...module.children.allTests()])
    const passed = tests.filter(test => test.result().state === 'passed').length
    const brokenFiles = modules.filter(module => module.errors().length > 0).length
    const failed = tests.filter(test => test.result().state === 'failed').length + brokenFiles
    process.on('exit', () => console.log(`${passed} passed, ${failed} failed`))
  }
}
