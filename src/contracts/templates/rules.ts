/**
 * What a template or its HTML can break, by names that stay. The sentences are English and the engine's own may change with its version:
 * a program that writes its own sentence decides by these.
 */
export const TEMPLATE_RULES = [
  'UNKNOWN_TAG',
  'TAG_WITHOUT_BEGINNING',
  'UNKNOWN_FILTER',
  'NOT_CLOSED',
  'INVALID_TAG',
  'INVALID_EXPRESSION',
  'NOT_A_TEXT',
  'LISTS_COMPARED',
  'SEARCHED_TOO_LONG',
  'TOO_SLOW',
  'TOO_MUCH_WORK',
  'EMPTY',
  'CONTENT_MISSING',
  'RENDERED_EMPTY',
  'INVALID_LINE',
  'TOO_MANY_TAGS',
  'TAG_TOO_LONG',
  'TAGS_TOO_LONG',
  'NESTED_TOO_DEEP',
  'NUMBER_TOO_LARGE',
  'HTML_SCRIPT',
  'HTML_EVENT_HANDLER',
  'HTML_URL_SCHEME',
  'HTML_CHARSET',
  'HTML_FORBIDDEN_ELEMENT',
  'HTML_FORBIDDEN_ATTRIBUTE',
  'HTML_META_REFRESH',
  'HTML_CSS',
  'HTML_HIDDEN_MARKUP',
  'HTML_TOO_DEEP',
  'HTML_TOO_COMPLEX',
  'HTML_NUL',
] as const

export type TemplateRule = (typeof TEMPLATE_RULES)[number]
export type HtmlCode = Extract<TemplateRule, `HTML_${string}`>
