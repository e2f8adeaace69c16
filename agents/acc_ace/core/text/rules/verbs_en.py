"""English verbs by what an order with them means: work that can be ruled, or chat."""

from acc_ace.core.text.patterns import words_of

WORK = words_of(
    """accept access act add address advise alert alter anonymize anonymise answer apply approve
    archive ask assign assume attach attend back backup bill block book bring bypass buy call
    cap carry cc change charge check cite clear click close combine commit compare confirm
    connect consult contact contradict convert copy count create cut debug decline delay
    delegate delete deploy describe disable disclose discuss distribute double-check downgrade
    download drain draft drop edit email enable encrypt enter escalate estimate execute exceed
    expand explain export expose extend fail file fill flag flush follow format forward generate
    give grant group guess halt hand handle hide highlight hire hold identify ignore import
    include inform insert install invest invite invoice issue keep kill label launch leak leave
    lend limit link list load log loop lower mail make mark mask match measure mention merge
    message migrate mix modify move name negotiate notify obtain offer omit open order overwrite
    override page park pass paste patch pause pay perform phone ping place plan plot post prefer
    prefix prepare present preserve prioritize prioritise print process produce promise propose
    protect provide prune publish pull purchase purge push put quote raise rate read reassign
    reboot recommend reconnect record redact redirect reduce refer refund refuse reject release
    reload remind remove rename reply report request reset resize respect respond restart
    restore restrict retry return reveal review rewrite roll rotate round route run sacrifice
    save scale schedule search sell send serve set share ship show shut shutdown sign skip speak
    spell spend start state stay stick stop store submit subscribe substitute suggest summarize
    summarise suspend switch tag take talk tell terminate test text touch track trade transfer
    translate treat trigger trim truncate turn unblock unlock update upgrade upload use validate
    verify wait wake warn wipe withdraw work wrap write"""
)
"""Base forms of what an agent or a team does at work."""

ONE_OFF = words_of(
    """add book buy call cancel check close compare compute copy count create delete describe draft
    drop download email explain fetch file find fix generate get give help list look make move
    open pick plan plot post prepare print pull purge put read reboot remind remove rename rerun
    reset restart retry return run save schedule search select send set show start stop submit
    summarize summarise switch tell translate turn try update upload write"""
)
"""Verbs whose bare order is done once ("restart it"), unless a word makes it standing."""

CHAT = words_of(
    """be believe bother care celebrate cheer come cry despair doubt dream enjoy expect fear feel
    fight find forget fret give go grow guess happen hang have hesitate hope hurry imagine judge
    keep know laugh learn let like listen live look lose love mind miss panic play push relax
    remember rest rush say see settle sleep smile stop stress struggle sweat take taste tell
    thank think treat trust try underestimate visit want watch wish wonder worry"""
)
"""Verbs of encouragement and small talk: "don't worry", "never give up", "you must visit"."""
PARTICIPLES = words_of(
    """accessed added announced agreed communicated coordinated anonymized anonymised answered
    approved archived attached authorized authorised backed based billed booked capitalized
    changed charged checked cited cleared confirmed copied deleted deployed disclosed discussed
    documented edited emailed encrypted escalated exceeded exported exposed filed flagged
    followed formatted forwarded given handled hidden included informed kept labeled labelled
    leaked logged made marked masked merged mentioned modified moved named notified obtained
    paid paired posted preserved printed processed published pushed put quoted raised recorded
    redacted rejected released removed renamed replaced reported restarted restored restricted
    retained returned revealed reviewed rotated rounded routed run saved scanned scheduled sent
    shared shipped shown shut signed sold spent stated stored submitted tagged taken tested
    touched tracked traded transferred translated treated typed updated uploaded used validated
    verified withheld written"""
)
"""Past participles in passive rules: "must be approved"."""
