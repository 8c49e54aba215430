#!/usr/bin/env node
// Any Node since version 10 has to be able to parse this file, so that it can print a sentence instead of a SyntaxError:
// no const, no arrow functions, no static import.
// biome-ignore-all lint: written for versions of JavaScript that the rules no longer know.
;(function () {
  var OLDEST = [20, 19]
  var found = process.versions.node.split('.')
  var major = Number(found[0])
  if (major > OLDEST[0] || (major === OLDEST[0] && Number(found[1]) >= OLDEST[1])) {
    import('../dist/main/cli.js')
    return
  }
  process.stderr.write(
    'Email Gateway needs Node ' + OLDEST.join('.') + ' or newer, and this is Node ' + process.versions.node + '.\n',
  )
  process.exitCode = 1
})()
