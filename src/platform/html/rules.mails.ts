/** Whole e-mails as builders and mail programs write them, shortened; each must pass. */
const MJML = `<!doctype html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office">
<head>
  <title>Bem-vinda</title>
  <!--[if !mso]><!--><meta http-equiv="X-UA-Compatible" content="IE=edge"><!--<![endif]-->
  <meta http-equiv="Content-Type" content="text/html; charset=UTF-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <style type="text/css">
    #outlook a { padding:0; }
    body { margin:0;padding:0;-webkit-text-size-adjust:100%;-ms-text-size-adjust:100%; }
    table, td { border-collapse:collapse;mso-table-lspace:0pt;mso-table-rspace:0pt; }
    img { border:0;height:auto;line-height:100%;-ms-interpolation-mode:bicubic; }
  </style>
  <!--[if mso]>
  <noscript><xml><o:OfficeDocumentSettings><o:AllowPNG/><o:PixelsPerInch>96</o:PixelsPerInch></o:OfficeDocumentSettings></xml></noscript>
  <![endif]-->
  <!--[if lte mso 11]><style type="text/css">.mj-outlook-group-fix { width:100% !important; }</style><![endif]-->
  <!--[if !mso]><!-->
  <link href="https://fonts.googleapis.com/css?family=Ubuntu:300,400,500,700" rel="stylesheet" type="text/css">
  <style type="text/css">@import url(https://fonts.googleapis.com/css?family=Ubuntu:300,400,500,700);</style>
  <!--<![endif]-->
  <style type="text/css">
    @media only screen and (min-width:480px) { .mj-column-per-100 { width:100% !important; max-width: 100%; } }
  </style>
  <style media="screen and (min-width:480px)">.moz-text-html .mj-column-per-100 { width:100% !important; }</style>
</head>
<body style="word-spacing:normal;background-color:#f4f4f4;">
  <div style="display:none;font-size:1px;color:#ffffff;line-height:1px;max-height:0px;max-width:0px;opacity:0;overflow:hidden;">Sua conta está pronta &#847; &zwnj; &nbsp;</div>
  <div style="background-color:#f4f4f4;">
    <!--[if mso | IE]><table align="center" border="0" cellpadding="0" cellspacing="0" style="width:600px;" width="600"><tr><td style="line-height:0px;font-size:0px;mso-line-height-rule:exactly;"><![endif]-->
    <div style="margin:0px auto;max-width:600px;">
      <table align="center" border="0" cellpadding="0" cellspacing="0" role="presentation" style="width:100%;"><tbody><tr>
        <td style="direction:ltr;font-size:0px;padding:20px 0;text-align:center;">
          <!--[if mso | IE]><table role="presentation" border="0" cellpadding="0" cellspacing="0"><tr><td style="vertical-align:top;width:600px;"><![endif]-->
          <div class="mj-column-per-100 mj-outlook-group-fix"><a href="https://app.example/ativar?t=abc&amp;u=1" target="_blank" style="display:inline-block;background:#414141;color:#ffffff;text-decoration:none;">Ativar</a></div>
          <!--[if mso | IE]></td></tr></table><![endif]-->
        </td></tr></tbody></table>
    </div>
    <!--[if mso | IE]></td></tr></table><![endif]-->
  </div>
</body></html>`

const OUTLOOK_BUTTON = `<table width="100%" cellspacing="0" cellpadding="0"><tr><td align="center">
<div><!--[if mso]>
  <v:roundrect xmlns:v="urn:schemas-microsoft-com:vml" xmlns:w="urn:schemas-microsoft-com:office:word" href="https://loja.example/pagar" style="height:40px;v-text-anchor:middle;width:200px;" arcsize="10%" strokecolor="#1e3650" fill="t">
    <v:fill type="tile" src="https://loja.example/bg.png" color="#556270" />
    <w:anchorlock/>
    <center style="color:#ffffff;font-family:sans-serif;font-size:13px;font-weight:bold;">Pagar agora</center>
  </v:roundrect>
<![endif]--><a href="https://loja.example/pagar" style="background-color:#556270;background-image:url(https://loja.example/bg.png);border-radius:4px;mso-hide:all;">Pagar agora</a></div>
<!--[if gte mso 9]><v:rect fill="true" stroke="false" style="width:600px;height:200px;"><v:fill type="frame" src="https://loja.example/hero.jpg"/><v:textbox inset="0,0,0,0" style="mso-fit-shape-to-text:true"><![endif]-->
<p>Hero</p>
<!--[if gte mso 9]></v:textbox></v:rect><![endif]-->
</td></tr></table>`

const DARK_MODE = `<!DOCTYPE html><html lang="pt-BR" dir="ltr"><head><meta charset="utf-8">
<meta name="x-apple-disable-message-reformatting"><meta name="format-detection" content="telephone=no,date=no,address=no,email=no,url=no">
<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">
<style>
  :root { color-scheme: light dark; supported-color-schemes: light dark; }
  /* What it does: stops iOS from turning <a> blue; the link's behavior: unchanged. */
  a[x-apple-data-detectors], .unstyle-auto-detected-links a { color: inherit !important; text-decoration: none !important; }
  u + #body .glist { margin-left: 15px !important; }
  @font-face { font-family: 'Inter'; src: url("https://cdn.example/inter.woff2") format("woff2"), url(data:font/woff2;base64,d09GMgABAAAAA) format('woff2'); }
  @media (prefers-color-scheme: dark) { .bg { background: #111 !important; } h1, p { color: #eee !important; } .logo-claro { display: none !important; } }
  [data-ogsc] .bg, [data-ogsb] .bg { background-color: #111 !important; }
  .hover:hover { filter: alpha(opacity=80); filter: progid:DXImageTransform.Microsoft.gradient(startColorstr='#1', endColorstr='#2'); }
  @supports (animation: x) { @keyframes pulse { 0% { opacity: .5 } to { opacity: 1 } } }
</style></head>
<body id="body" class="bg" bgcolor="#ffffff"><h1>Código de acesso</h1><p>Seu código é <strong>482 913</strong>. Não compartilhe.</p></body></html>`

const RECEIPT = `<html><body bgcolor="#FFFFFF" text="#333333" link="#0066CC">
<h2>Recibo nº 2024/00917</h2><p>Olá, <b>João da Silva</b>! Recebemos o seu pagamento de R$&nbsp;1.249,90 em 12/03/2024 às 14h30.</p>
<table border="1" cellpadding="6" width="100%"><thead><tr><th align="left">Item</th><th>Qtd.</th><th>Preço</th></tr></thead>
<tbody><tr><td>Cafeteira "Expresso" 20&nbsp;bar &amp; filtro</td><td align="center">1</td><td align="right">R$ 999,90</td></tr>
<tr><td>Açúcar &lt; 1&nbsp;kg</td><td align="center">2</td><td align="right">R$ 250,00</td></tr></tbody>
<tfoot><tr><td colspan="2">Total</td><td align="right"><strong>R$ 1.249,90</strong></td></tr></tfoot></table>
<p><img src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==" alt="QR code do Pix" width="160" height="160"></p>
<p>Dúvidas? <a href="mailto:ajuda@loja.example?subject=Recibo%202024/00917">ajuda@loja.example</a>,
<a href="tel:08001234567">0800 123 4567</a> ou <a href="https://wa.me/5511999999999?text=Ol%C3%A1">WhatsApp</a>. <a href="#topo">Voltar ao topo</a></p>
<hr><p style="font-size:11px;color:#999">CNPJ 12.345.678/0001-90 · <a href="https://loja.example/descadastrar?id=1&amp;k=onclick">Cancelar inscrição</a></p>
<img src="https://loja.example/pixel.gif" width="1" height="1" alt="" border="0" style="display:block"></body></html>`

const WORD = `<html xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office" xmlns:w="urn:schemas-microsoft-com:office:word" xmlns:m="http://schemas.microsoft.com/office/2004/12/omml" xmlns="http://www.w3.org/TR/REC-html40">
<head><meta http-equiv=Content-Type content="text/html; charset=iso-8859-1"><meta name=Generator content="Microsoft Word 15 (filtered medium)">
<style><!--
@font-face {font-family:"Cambria Math"; panose-1:2 4 5 3 5 4 6 3 2 4;}
p.MsoNormal, li.MsoNormal {margin:0cm; font-size:11.0pt; font-family:"Calibri",sans-serif; mso-fareast-language:EN-US;}
@page WordSection1 {size:612.0pt 792.0pt; margin:70.85pt 3.0cm;}
div.WordSection1 {page:WordSection1;}
--></style><!--[if gte mso 9]><xml>
<o:shapedefaults v:ext="edit" spidmax="1026" />
</xml><![endif]--></head>
<body lang=PT-BR link="#0563C1" vlink="#954F72" style='word-wrap:break-word'><div class=WordSection1>
<p class=MsoNormal><span style='mso-fareast-language:PT-BR'>Prezados,<o:p></o:p></span></p><p class=MsoNormal><o:p>&nbsp;</o:p></p>
<p class=MsoNormal><img width=96 height=32 style='width:1.0in' id="_x0000_i1025" src="cid:image001.png@01DA7A2B.6C5E1F30"><o:p></o:p></p></div></body></html>`

const PASSWORD_RESET = `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><head><meta name="viewport" content="width=device-width"/><title>Redefinir senha</title></head>
<body itemscope itemtype="http://schema.org/EmailMessage"><div itemprop="potentialAction" itemscope itemtype="http://schema.org/ViewAction"><link itemprop="target" href="https://app.example/senha"/><meta itemprop="name" content="Redefinir senha"/></div>
<span class="preheader" style="color:transparent;display:none;height:0;max-height:0;mso-hide:all;overflow:hidden;visibility:hidden;width:0;">Use este link em 24 horas.</span>
<table class="email-wrapper" width="100%" cellpadding="0" cellspacing="0" role="presentation"><tr><td align="center">
<a href="{{action_url}}" class="f-fallback button button--green" target="_blank">Redefinir senha</a>
<p class="f-fallback sub">Sistema: {{operating_system}} · Navegador: {{browser_name}}</p>
<p>Se o botão não funcionar, copie: <span style="word-break:break-all">https://app.example/senha?token=abc&amp;onload=1</span></p>
</td></tr></table></body></html>`

export const REAL_MAILS: Readonly<Record<string, string>> = {
  'an MJML welcome': MJML,
  'an Outlook VML button': OUTLOOK_BUTTON,
  'a dark-mode access code': DARK_MODE,
  'a receipt in Portuguese': RECEIPT,
  'a letter from Word': WORD,
  'a password reset': PASSWORD_RESET,
}
