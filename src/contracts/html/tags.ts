import { type Attribute, type Inspection, inspectAttribute, localName, refuseUrl } from './attributes.ts'
import { ALLOWED_CHARSETS, contentHasOtherCharset, hidesCharset, isAllowedCharset } from './charset.ts'
import type { StartTag } from './start-tags.ts'
import { isHarmlessUrl } from './urls.ts'

const FORBIDDEN_ELEMENTS: ReadonlySet<string> = new Set(
  'iframe frame frameset fencedframe portal layer ilayer vmlframe object embed applet base import handler listener'.split(
    ' ',
  ),
)
/** Of SVG, and t:set of Internet Explorer. */
const ANIMATIONS: ReadonlySet<string> = new Set(
  'animate set animatetransform animatemotion animatecolor animation'.split(' '),
)
const ANIMATED_VALUES = 'values from to by'.split(' ')

const SIMPLE_NAME = /^[a-z][a-z0-9]*$/
const REFUSED_META = /^(?:refresh|set-cookie2?|link|location|window-target)$/
const REFUSED_LINK = /^(?:import|modulepreload|serviceworker)$/
const REFUSED_PRELOAD = /^(?:script|.*worker|document|embed|object|i?frame)$/
const ANIMATED_CODE = /(?:^|:)(?:href|src|style|innerhtml|outerhtml|on[a-z]+)$/

/** Called for every start tag of the tokenizer, also for those that the tree builder drops: another client may keep them. */
export function inspectTag(tag: StartTag, inForeignContent: boolean, inspection: Inspection): void {
  const element = elementName(tag.tagName)
  inspectElement(element, inspection)
  if (tag.tagName === 'comment') inspection.report('HTML_FORBIDDEN_ELEMENT', '<comment> is not allowed')
  if (tag.attrs.length === 0) return
  INSPECTIONS.get(element)?.(tag.attrs, inspection)
  const charset = tag.attrs.find(attribute => attribute.name === 'charset')
  if (charset && !isAllowedCharset(charset.value)) refuseCharset(inspection)
  if (ANIMATIONS.has(element)) inspectAnimation(element, tag.attrs, inspection)
  const inForeign = inForeignContent || element === 'svg' || element === 'math'
  for (const attribute of tag.attrs) {
    inspectAttribute(element, attribute, inForeign, inspection)
    if (hidesCharset(attribute.value)) refuseCharset(inspection)
    // `<b <script>` is one broken tag for a browser and two tags for older mail clients.
    if (attribute.name.startsWith('<')) inspectElement(attribute.name.slice(1), inspection)
  }
}

function inspectElement(element: string, inspection: Inspection): void {
  if (element === 'script') inspection.report('HTML_SCRIPT', '<script> is not allowed')
  else if (FORBIDDEN_ELEMENTS.has(element)) inspection.report('HTML_FORBIDDEN_ELEMENT', `<${element}> is not allowed`)
}

const INSPECTIONS: ReadonlyMap<string, (attrs: Attribute[], inspection: Inspection) => void> = new Map([
  ['meta', inspectMeta],
  ['link', inspectLink],
  ['style', inspectStyleType],
  ['param', inspectParam],
  ['xml', inspectXmlIsland],
])

function inspectMeta(attrs: Attribute[], inspection: Inspection): void {
  const directive = squash(valueIn(attrs, 'http-equiv'))
  if (REFUSED_META.test(directive))
    inspection.report('HTML_META_REFRESH', `<meta http-equiv=${directive}> is not allowed`)
  if (contentHasOtherCharset(valueIn(attrs, 'content'))) refuseCharset(inspection)
}

export function refuseCharset(inspection: Inspection): void {
  inspection.report('HTML_CHARSET', `a charset other than ${ALLOWED_CHARSETS} is not allowed`)
}

function inspectLink(attrs: Attribute[], inspection: Inspection): void {
  const relations = valueIn(attrs, 'rel').toLowerCase().split(/\s+/)
  const loadsScript = relations.includes('preload') && REFUSED_PRELOAD.test(squash(valueIn(attrs, 'as')))
  if (loadsScript || relations.some(relation => REFUSED_LINK.test(relation))) {
    inspection.report('HTML_FORBIDDEN_ELEMENT', '<link> that loads a script or a document is not allowed')
  }
}

function inspectStyleType(attrs: Attribute[], inspection: Inspection): void {
  if (/script/i.test(valueIn(attrs, 'type')))
    inspection.report('HTML_SCRIPT', '<style> with a script type is not allowed')
}

function inspectParam(attrs: Attribute[], inspection: Inspection): void {
  if (!isHarmlessUrl(valueIn(attrs, 'value'), 'none')) refuseUrl('value', 'param', inspection)
}

/** Word writes <xml> with its settings inside; only data islands of Internet Explorer have a src. */
function inspectXmlIsland(attrs: Attribute[], inspection: Inspection): void {
  if (valueIn(attrs, 'src') !== '') inspection.report('HTML_FORBIDDEN_ELEMENT', '<xml src> is not allowed')
}

function inspectAnimation(element: string, attrs: Attribute[], inspection: Inspection): void {
  if (ANIMATED_CODE.test(squash(valueIn(attrs, 'attributename')))) {
    inspection.report('HTML_FORBIDDEN_ELEMENT', `<${element}> that changes a link or a handler is not allowed`)
  }
  for (const name of ANIMATED_VALUES) {
    for (const url of valueIn(attrs, name).split(';'))
      if (!isHarmlessUrl(url, 'none')) refuseUrl(name, element, inspection)
  }
}

/** Some clients run `<script\v>` and `<x:script>` as a script. */
function elementName(tagName: string): string {
  return SIMPLE_NAME.test(tagName) ? tagName : localName(/^[\w:.-]*/.exec(tagName)![0])
}

const valueIn = (attrs: Attribute[], name: string) => attrs.find(attribute => attribute.name === name)?.value ?? ''
const squash = (value: string) => value.replace(/[\s\p{C}]/gu, '').toLowerCase()
